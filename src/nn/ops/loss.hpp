#pragma once

#include <cmath>
#include <cstdint>

#include "device/stream.hpp"

namespace satrap::nn::ops {

/// Binary cross-entropy of one logit z with label y, in the form that neither overflows nor loses
/// digits: max(z, 0) − z·y + log(1 + exp(−|z|)); its gradient is σ(z) − y.
struct BceWithLogits {
  const float* logits;
  const float* labels;
  float scale;
  float* gradients;

  SATRAP_KERNEL double operator()(std::int64_t i) const {
    const auto z = static_cast<double>(logits[i]);
    const auto y = static_cast<double>(labels[i]);
    const double small = std::exp(-std::fabs(z));
    const double probability = (z < 0.0 ? small : 1.0) / (1.0 + small);
    gradients[i] = static_cast<float>((probability - y) * static_cast<double>(scale));
    return std::fmax(z, 0.0) - z * y + std::log1p(small);
  }
};

}  // namespace satrap::nn::ops
