// Philox4x32-10 with one counter block per lane (Salmon et al. 2011), the same words as
// satrap::philox. Included by kernels once per instruction set, which is why the guard is toggled.

#if defined(SATRAP_STORE_KERNELS_PHILOX_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef SATRAP_STORE_KERNELS_PHILOX_HPP
#undef SATRAP_STORE_KERNELS_PHILOX_HPP
#else
#define SATRAP_STORE_KERNELS_PHILOX_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "core/types.hpp"

HWY_BEFORE_NAMESPACE();
namespace satrap::store::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Blocks = hn::CappedTag<std::uint64_t, 8>;

/// The four words of a block per 64-bit lane, two and two: the first in the lower half.
struct RandomWords {
  hn::Vec<Blocks> first;
  hn::Vec<Blocks> second;
};

/// The words of blocks `block`, block + 1, ... of (id, upper) under `key`:
///
///     counter   | id, u64 | block, u32 | upper, u32 |
HWY_INLINE RandomWords philox_words(std::uint64_t key, FeatureId id, std::size_t block,
                                    std::uint32_t upper) {
  using Lane = hn::Vec<Blocks>;
  const Blocks d;
  const hn::Repartition<std::uint32_t, Blocks> words;
  // Every lane holds one word of its block in the lower half; what is above it is never looked at.
  const auto multiply = [&](Lane a, std::uint32_t by) {
    return hn::MulEven(hn::BitCast(words, a), hn::Set(words, by));
  };
  Lane c0 = hn::Set(d, raw(id));
  Lane c1 = hn::Set(d, raw(id) >> 32);
  // An Iota from a variable goes through memory and holds up what follows.
  Lane c2 = hn::Add(hn::Iota(d, 0), hn::Set(d, block));
  Lane c3 = hn::Set(d, upper);
  Lane k0 = hn::Set(d, key);
  Lane k1 = hn::Set(d, key >> 32);
  // Unrolled, GCC would compute the twenty round keys, each from a constant of its own.
#pragma GCC unroll 1
  for (int round = 0; round < 10; ++round) {
    const Lane a = multiply(c0, 0xD2511F53U);
    const Lane b = multiply(c2, 0xCD9E8D57U);
    c0 = hn::Xor(hn::ShiftRight<32>(b), hn::Xor(c1, k0));
    c1 = b;
    c2 = hn::Xor(hn::ShiftRight<32>(a), hn::Xor(c3, k1));
    c3 = a;
    k0 = hn::Add(k0, hn::Set(d, 0x9E3779B9U));
    k1 = hn::Add(k1, hn::Set(d, 0xBB67AE85U));
  }
  const auto join = [&](Lane lower, Lane upper_half) {
    return hn::BitCast(d, hn::OddEven(hn::BitCast(words, hn::ShiftLeft<32>(upper_half)),
                                      hn::BitCast(words, lower)));
  };
  return {join(c0, c1), join(c2, c3)};
}

}  // namespace
}  // namespace satrap::store::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
