#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace satrap::nn {

/// One named array of the model inside its flat buffer, e.g. "top/0/weight" [out, in].
struct ParameterInfo {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  ///< In floats, from the start of the buffer.
  std::int64_t size = 0;    ///< Product of the shape.
};

/// Sizes that the config and the data give.
struct ModelShape {
  std::int64_t dense_features = 0;
  std::vector<std::int64_t> slot_dims;  ///< [slots] dim of each slot's pooled vector

  std::int64_t pooled_width() const noexcept;  ///< Σ slot_dims
};

/// The dense network from pooled embeddings and dense features to logits.
///
/// Parameters, gradients and state are flat float buffers in the same order on every rank, layer by
/// layer from the input to the output, so that they are all-reduced, checked and saved as arrays.
/// Not thread-safe. A batch of 0 samples is legal everywhere and gives gradients of 0.
class DenseModel {
 public:
  /// Told during backward that the gradients from `offset` on are final (and those behind it were
  /// told before): the all-reduce of a bucket may start. Offsets fall; the last is 0.
  using GradientsReady = std::function<void(std::int64_t offset)>;

  virtual ~DenseModel() = default;

  /// logits [batch] from dense [batch, dense_features] and pooled [batch, pooled_width] (each
  /// sample's pooled vectors one after the other, in slot order). `training` makes batch
  /// normalisation use and record the batch's statistics. The inputs must live until backward has
  /// returned.
  virtual std::span<const float> forward(std::int64_t batch, const float* dense,
                                         const float* pooled, bool training) = 0;

  /// From dL/dlogits [batch] of the last forward: sets gradients() (does not add to them) and
  /// returns dL/dpooled [batch, pooled_width], valid until the next call.
  virtual std::span<const float> backward(const float* logit_gradients,
                                          const GradientsReady& ready) = 0;

  std::span<float> parameters() noexcept { return parameters_; }
  std::span<float> gradients() noexcept { return gradients_; }
  /// What is learned without a gradient: running mean and variance of batch normalisation.
  std::span<float> state() noexcept { return state_; }

  const std::vector<ParameterInfo>& parameter_info() const noexcept { return parameter_info_; }
  const std::vector<ParameterInfo>& state_info() const noexcept { return state_info_; }

  /// Floating-point operations of the matrix products of one sample, forward and backward.
  virtual double matmul_flops_per_sample() const noexcept = 0;

 protected:
  std::vector<float> parameters_;
  std::vector<float> gradients_;
  std::vector<float> state_;
  std::vector<ParameterInfo> parameter_info_;
  std::vector<ParameterInfo> state_info_;
};

/// Builds the model of `config`, weights drawn from (seed, name of the layer) as PyTorch's Linear
/// does it: uniform in ±1/sqrt(in). Throws ConfigError if the shape does not fit (dlrm needs equal
/// dims).
std::unique_ptr<DenseModel> make_model(const config::ModelConfig& config, const ModelShape& shape,
                                       std::uint64_t seed);

}  // namespace satrap::nn
