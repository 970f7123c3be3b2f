#pragma once

#include <cstdint>
#include <span>

#include "config/config.hpp"
#include "device/memory.hpp"
#include "nn/interaction.hpp"
#include "nn/mlp.hpp"
#include "nn/model.hpp"

namespace satrap::nn {

/// The deep learning recommendation model (Naumov et al. 2019): an MLP over the dense features, dot
/// products between its output and the pooled vectors, an MLP on top. Arrays: bottom/I, top/I.
class Dlrm final : public DenseModel {
 public:
  Dlrm(const config::ModelConfig& config, const ModelShape& shape, std::uint64_t seed);

  std::span<const float> forward(std::int64_t batch, const float* dense, const float* pooled,
                                 bool training) override;
  std::span<const float> backward(const float* logit_gradients,
                                  const GradientsReady& ready) override;

 private:
  std::int64_t dim_;
  std::int64_t pooled_width_;
  Mlp bottom_;
  Interaction interaction_;
  Mlp top_;

  // Of the last forward.
  std::int64_t batch_ = 0;
  const float* bottom_output_ = nullptr;
  const float* pooled_ = nullptr;

  device::Buffer<float> interactions_;      ///< [batch, interaction width]
  device::Buffer<float> logit_gradients_;   ///< [batch]
  device::Buffer<float> bottom_gradients_;  ///< [batch, dim]
  device::Buffer<float> pooled_gradients_;  ///< [batch, pooled width]
};

}  // namespace satrap::nn
