#include "nn/pooling.hpp"

#include "nn/ops/pooling.hpp"

namespace satrap::nn {

void pool_forward(const BagView& bags, const float* rows, float* out, std::int64_t stride) {
  const ops::PoolBags pool{bags.indices,
                           bags.offsets,
                           bags.pooling == config::Pooling::mean,
                           bags.rows_per_id,
                           rows,
                           bags.dim,
                           out,
                           stride};
  for (std::int64_t sample = 0; sample < bags.batch; ++sample) pool(sample);
}

void pool_backward(const BagView& bags, const float* gradients, std::int64_t stride,
                   float* row_gradients) {
  const ops::PoolBagsGradient pool{
      bags.indices,     bags.offsets, bags.pooling == config::Pooling::mean,
      bags.rows_per_id, gradients,    bags.dim,
      stride,           row_gradients};
  // Sample after sample: bags share rows.
  for (std::int64_t sample = 0; sample < bags.batch; ++sample) pool(sample);
}

}  // namespace satrap::nn
