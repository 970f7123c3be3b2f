#pragma once

#include <cstdint>

#include "device/stream.hpp"

namespace satrap::nn::ops {

/// What the sum of the `rows` rows of a bag is multiplied by. The mean is that of its ids.
SATRAP_KERNEL inline float pooling_weight(bool mean, std::int64_t rows_per_id, std::uint32_t rows) {
  return mean && rows > 0 ? static_cast<float>(rows_per_id) / static_cast<float>(rows) : 1.0f;
}

/// out[i] = weight(i) · Σ of the rows of bag i; the columns are independent of each other.
struct PoolBags {
  const std::uint32_t* indices;
  const std::uint32_t* offsets;  ///< [batch + 1]
  bool mean;
  std::int64_t rows_per_id;
  const float* rows;  ///< [unique, dim]
  std::int64_t dim;
  float* out;
  std::int64_t stride;

  SATRAP_KERNEL void operator()(std::int64_t sample) const {
    float* const pooled = out + sample * stride;
    const std::uint32_t begin = offsets[sample];
    const std::uint32_t end = offsets[sample + 1];
    if (begin == end) {
      for (std::int64_t d = 0; d < dim; ++d) pooled[d] = 0.0f;
      return;
    }
    const float* first = rows + indices[begin] * dim;
    for (std::int64_t d = 0; d < dim; ++d) pooled[d] = first[d];
    for (std::uint32_t k = begin + 1; k < end; ++k) {
      const float* row = rows + indices[k] * dim;
#pragma GCC ivdep
      for (std::int64_t d = 0; d < dim; ++d) pooled[d] += row[d];
    }
    const float weight = pooling_weight(mean, rows_per_id, end - begin);
    if (weight == 1.0f) return;
    for (std::int64_t d = 0; d < dim; ++d) pooled[d] *= weight;
  }
};

/// Adds the gradient of each pooled vector to the rows of its bag.
struct PoolBagsGradient {
  const std::uint32_t* indices;
  const std::uint32_t* offsets;
  bool mean;
  std::int64_t rows_per_id;
  const float* gradients;
  std::int64_t dim;
  std::int64_t stride;
  float* row_gradients;

  SATRAP_KERNEL void operator()(std::int64_t sample) const {
    const float* const pooled = gradients + sample * stride;
    const std::uint32_t begin = offsets[sample];
    const std::uint32_t end = offsets[sample + 1];
    const float weight = pooling_weight(mean, rows_per_id, end - begin);
    for (std::uint32_t k = begin; k < end; ++k) {
      float* row = row_gradients + indices[k] * dim;
#pragma GCC ivdep
      for (std::int64_t d = 0; d < dim; ++d) row[d] += weight * pooled[d];
    }
  }
};

}  // namespace satrap::nn::ops
