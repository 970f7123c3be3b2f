#pragma once

#include <cstdint>

#include "config/config.hpp"

namespace satrap::nn {

/// The ids of one slot over a batch, as rows of its table's unique rows. An id is the sum of
/// `rows_per_id` of them; the mean is taken over ids.
struct BagView {
  std::int64_t batch = 0;
  const std::uint32_t* indices = nullptr;
  const std::uint32_t* offsets = nullptr;  ///< [batch + 1]
  std::int64_t dim = 0;
  config::Pooling pooling = config::Pooling::sum;
  std::int64_t rows_per_id = 1;
};

/// Pools `rows` [unique, dim] into `out`, whose vector of sample i starts at out + i * stride. An
/// empty bag gives zeros.
void pool_forward(const BagView& bags, const float* rows, float* out, std::int64_t stride);

/// Adds the gradients of the pooled vectors, at gradients + i * stride, to `row_gradients` [unique,
/// dim], sample by sample: the sum for a row does not depend on where the row stands.
void pool_backward(const BagView& bags, const float* gradients, std::int64_t stride,
                   float* row_gradients);

}  // namespace satrap::nn
