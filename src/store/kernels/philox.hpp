// Philox4x32-10 with one counter block per lane (Salmon et al. 2011), the same words as
// satrap::philox. Included by kernels once per instruction set, which is why the guard is toggled.

#if defined(SATRAP_STORE_KERNELS_PHILOX_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef SATRAP_STORE_KERNELS_PHILOX_HPP
#undef SATRAP_STORE_KERNELS_PHILOX_HPP
#else
#define SATRAP_STORE_KERNELS_PHILOX_HPP
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace satrap::store::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// 32 x 32 -> 64 bits, lane by lane.
template <class Word>
HWY_INLINE void multiply(Word a, Word b, Word& high, Word& low) {
  const hn::DFromV<Word> d;
  const hn::Repartition<std::uint64_t, decltype(d)> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
}

/// Turns counters into random words.
template <class Word>
HWY_INLINE void philox_blocks(std::uint64_t key, Word (&c)[4]) {
  const hn::DFromV<Word> d;
  const Word m0 = hn::Set(d, 0xD2511F53U);
  const Word m1 = hn::Set(d, 0xCD9E8D57U);
  Word k0 = hn::Set(d, static_cast<std::uint32_t>(key));
  Word k1 = hn::Set(d, static_cast<std::uint32_t>(key >> 32));
  for (int round = 0; round < 10; ++round) {
    Word high0, low0, high1, low1;
    multiply(c[0], m0, high0, low0);
    multiply(c[2], m1, high1, low1);
    c[0] = hn::Xor(hn::Xor(high1, c[1]), k0);
    c[1] = low1;
    c[2] = hn::Xor(hn::Xor(high0, c[3]), k1);
    c[3] = low0;
    k0 = hn::Add(k0, hn::Set(d, 0x9E3779B9U));
    k1 = hn::Add(k1, hn::Set(d, 0xBB67AE85U));
  }
}

}  // namespace
}  // namespace satrap::store::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
