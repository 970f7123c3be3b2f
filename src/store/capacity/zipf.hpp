#pragma once

#include <cstdint>

#include "core/random.hpp"

namespace satrap::store {

/// Draws ranks 1 ... n with P(k) ~ k^-s, in constant time and memory whatever n is:
/// rejection-inversion (Hörmann and Derflinger 1996, "Rejection-inversion to generate variates from
/// monotone discrete distributions"). s = 0 is uniform. A draw has the 53 bits of a double: beyond
/// 10^14 ranks not every single one of the far tail can come up. Threads may share it.
class Zipf {
 public:
  static constexpr std::int64_t kMaxRanks = std::int64_t{1} << 53;

  /// 1 <= n <= kMaxRanks, s >= 0.
  Zipf(std::int64_t n, double s) noexcept;

  std::uint64_t operator()(RandomSequence& random) const noexcept;

 private:
  double density(double x) const noexcept;           ///< h(x) = x^-s
  double integral(double x) const noexcept;          ///< H(x), of h from 1 to x
  double inverse_integral(double u) const noexcept;  ///< H^-1

  double n_;
  double s_;
  double lower_;   ///< H(3/2) - h(1)
  double upper_;   ///< H(n + 1/2)
  double accept_;  ///< A draw this close above its rank is always accepted.
};

}  // namespace satrap::store
