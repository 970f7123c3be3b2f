#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "core/types.hpp"

namespace satrap {

/// Counter-based random numbers (Philox4x32-10, Salmon et al. 2011): a value depends only on its
/// key and counter, never on who asked before. `stream` separates the uses of one seed.
enum class RandomStream : std::uint32_t {
  row_init = 1,
  shuffle = 2,
  dense_init = 3,
  teacher = 4,
  eviction = 5,
  admission = 6,
  rounding = 7,
};

/// The key of (seed, stream): 64 bits must carry both, so the stream goes in by an odd multiplier.
constexpr std::uint64_t philox_key(std::uint64_t seed, RandomStream stream) noexcept {
  return seed ^ (0x9e3779b97f4a7c15ULL * static_cast<std::uint32_t>(stream));
}

/// Four independent 32-bit words for counter (a, b) under key (seed, stream).
std::array<std::uint32_t, 4> philox(std::uint64_t seed, RandomStream stream, std::uint64_t a,
                                    std::uint64_t b) noexcept;

/// In [0, 1): the upper 24 bits of a word, exact in float.
constexpr float unit_float(std::uint32_t word) noexcept {
  return static_cast<float>(word >> 8) * 0x1p-24f;
}

/// Fills `out` [dim] with uniform values in [-range, range), a function of (seed, table, id) alone:
/// the initial weights of a row, the same wherever and whenever it is made.
void initial_row(std::uint64_t seed, TableId table, FeatureId id, float range,
                 std::span<float> out) noexcept;

/// A sequential generator over one (seed, stream, substream), for code that draws one after the
/// other. Satisfies UniformRandomBitGenerator.
class RandomSequence {
 public:
  using result_type = std::uint32_t;

  RandomSequence(std::uint64_t seed, RandomStream stream, std::uint64_t substream = 0) noexcept
      : seed_(seed), stream_(stream), substream_(substream) {}

  static constexpr result_type min() noexcept { return 0; }
  static constexpr result_type max() noexcept { return 0xffffffffU; }

  result_type operator()() noexcept;
  std::uint64_t next64() noexcept;
  /// In [0, 1) with 53 bits.
  double uniform() noexcept;
  /// In [0, bound), without bias worth measuring (error below bound / 2^64).
  std::uint64_t below(std::uint64_t bound) noexcept;
  /// Standard normal (Box-Muller).
  double normal() noexcept;

 private:
  std::uint64_t seed_;
  RandomStream stream_;
  std::uint64_t substream_;
  std::uint64_t counter_ = 0;
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
};

}  // namespace satrap
