#pragma once

#include <cmath>
#include <cstdint>

#include "device/stream.hpp"

namespace satrap::nn::ops {

// One update of parameter i. w: parameters, g: gradients.

struct SgdUpdate {
  float* w;
  const float* g;
  float lr;
  float weight_decay;

  SATRAP_KERNEL void operator()(std::int64_t i) const { w[i] -= lr * (g[i] + weight_decay * w[i]); }
};

struct MomentumUpdate {
  float* w;
  const float* g;
  float* v;
  float lr;
  float momentum;
  float weight_decay;

  SATRAP_KERNEL void operator()(std::int64_t i) const {
    v[i] = momentum * v[i] + (g[i] + weight_decay * w[i]);
    w[i] -= lr * v[i];
  }
};

struct AdagradUpdate {
  float* w;
  const float* g;
  float* a;
  float lr;
  float eps;
  float weight_decay;

  SATRAP_KERNEL void operator()(std::int64_t i) const {
    const float gradient = g[i] + weight_decay * w[i];
    a[i] += gradient * gradient;
    w[i] -= lr * gradient / (std::sqrt(a[i]) + eps);
  }
};

struct AdamUpdate {
  float* w;
  const float* g;
  float* m;
  float* v;
  float lr;
  float beta1;
  float beta2;
  float eps;
  float weight_decay;
  float m_correction;       ///< 1 / (1 − beta1^t)
  float v_root_correction;  ///< 1 / √(1 − beta2^t)

  SATRAP_KERNEL void operator()(std::int64_t i) const {
    m[i] = beta1 * m[i] + (1.0f - beta1) * g[i];
    v[i] = beta2 * v[i] + (1.0f - beta2) * g[i] * g[i];
    const float step = m_correction * m[i] / (v_root_correction * std::sqrt(v[i]) + eps);
    w[i] -= lr * (step + weight_decay * w[i]);
  }
};

}  // namespace satrap::nn::ops
