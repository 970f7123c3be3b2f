#include "nn/loss.hpp"

#include "nn/ops/loss.hpp"

namespace satrap::nn {

double bce_with_logits(std::int64_t batch, const float* logits, const float* labels, float scale,
                       float* gradients) {
  const ops::BceWithLogits loss{logits, labels, scale, gradients};
  double sum = 0.0;
  for (std::int64_t i = 0; i < batch; ++i) sum += loss(i);
  return sum;
}

}  // namespace satrap::nn
