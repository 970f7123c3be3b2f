#pragma once

#include <algorithm>
#include <cmath>

#include "config/choices.hpp"

namespace satrap::store {

/// The storage types that are rounded to.
inline constexpr config::Storage kTypes[] = {config::Storage::fp16, config::Storage::bf16,
                                             config::Storage::int8};

/// From a number of fp16 or bf16 to the next larger one, at `x`.
inline double step_at(config::Storage type, double x) {
  const bool half = type == config::Storage::fp16;
  const int exponent = x == 0 ? -1000 : std::ilogb(x);
  return std::ldexp(1.0, std::max(exponent, half ? -14 : -126) - (half ? 10 : 7));
}

}  // namespace satrap::store
