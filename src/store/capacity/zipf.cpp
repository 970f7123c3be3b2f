#include "store/capacity/zipf.hpp"

#include <algorithm>
#include <cmath>

namespace satrap::store {
namespace {

// With their limits at 0, where s is 1.
double expm1_ratio(double t) {
  return std::abs(t) < 1e-9 ? 1 + t / 2 : std::expm1(t) / t;
}
double log1p_ratio(double t) {
  return std::abs(t) < 1e-9 ? 1 - t / 2 : std::log1p(t) / t;
}

}  // namespace

Zipf::Zipf(std::int64_t n, double s) noexcept
    : n_(static_cast<double>(n)),
      s_(s),
      lower_(integral(1.5) - 1),
      upper_(integral(n_ + 0.5)),
      accept_(2 - inverse_integral(integral(2.5) - density(2))) {}

double Zipf::density(double x) const noexcept {
  return std::exp(-s_ * std::log(x));
}

double Zipf::integral(double x) const noexcept {
  const double log_x = std::log(x);
  return log_x * expm1_ratio((1 - s_) * log_x);
}

double Zipf::inverse_integral(double u) const noexcept {
  // At the end of a steep law rounding may lead past the pole.
  return std::exp(u * log1p_ratio(std::max(u * (1 - s_), -1.0)));
}

std::uint64_t Zipf::operator()(RandomSequence& random) const noexcept {
  for (;;) {
    const double u = upper_ + random.uniform() * (lower_ - upper_);
    const double x = inverse_integral(u);
    const double rank = std::clamp(std::floor(x + 0.5), 1.0, n_);
    if (rank - x <= accept_ || u >= integral(rank + 0.5) - density(rank)) {
      return static_cast<std::uint64_t>(rank);
    }
  }
}

}  // namespace satrap::store
