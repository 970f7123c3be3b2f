#pragma once

#include <cstdint>

namespace satrap::nn {

/// Binary cross-entropy from logits, summed over `batch` samples in double, in nats. Writes
/// dL/dlogit * scale to `gradients` [batch]; scale is 1 / samples of the step for a mean over all
/// trainers. Not finite if a logit is not.
double bce_with_logits(std::int64_t batch, const float* logits, const float* labels, float scale,
                       float* gradients);

}  // namespace satrap::nn
