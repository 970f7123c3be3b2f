#pragma once

#include <cstdint>

#include "device/stream.hpp"

namespace satrap::nn::ops {

/// Sums dy [batch, out] over the batch into bias_gradient [out], row by row.
struct BiasGradient {
  const float* dy;
  std::int64_t stride;  ///< Floats from one row of dy to the next.
  float* bias_gradient;

  SATRAP_KERNEL void operator()(std::int64_t row, std::int64_t column) const {
    bias_gradient[column] += dy[row * stride + column];
  }
};

/// The same behind a ReLU whose output was y: first sets dy to 0 where the ReLU cut.
struct ReluBiasGradient {
  const float* y;
  float* dy;
  std::int64_t stride;
  float* bias_gradient;

  SATRAP_KERNEL void operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = row * stride + column;
    const float gradient = y[i] > 0.0f ? dy[i] : 0.0f;
    dy[i] = gradient;
    bias_gradient[column] += gradient;
  }
};

}  // namespace satrap::nn::ops
