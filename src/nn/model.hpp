#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/config.hpp"
#include "device/memory.hpp"
#include "device/stream.hpp"
#include "nn/matmul.hpp"
#include "nn/parameters.hpp"

namespace satrap::nn {

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
  using GradientsReady = nn::GradientsReady;

  virtual ~DenseModel() = default;

  /// logits [batch] from dense [batch, dense_features] and pooled [batch, pooled_width] (each
  /// sample's pooled vectors one after the other, in slot order). `training` makes batch
  /// normalisation use and record the batch's statistics. The inputs must live until backward has
  /// returned; the result, until the next forward.
  virtual std::span<const float> forward(std::int64_t batch, const float* dense,
                                         const float* pooled, bool training) = 0;

  /// From dL/dlogits [batch] of the last forward: sets gradients() (does not add to them) and
  /// returns dL/dpooled [batch, pooled_width], valid until the next call. `ready` may be empty.
  virtual std::span<const float> backward(const float* logit_gradients,
                                          const GradientsReady& ready) = 0;

  std::span<float> parameters() noexcept { return parameters_.span(); }
  std::span<float> gradients() noexcept { return gradients_.span(); }
  /// What is learned without a gradient: running mean and variance of batch normalisation, of the
  /// batches that this replica saw.
  std::span<float> state() noexcept { return state_.span(); }

  const std::vector<ParameterInfo>& parameter_info() const noexcept { return parameter_info_; }
  const std::vector<ParameterInfo>& state_info() const noexcept { return state_info_; }

  /// The linear layers, for matmul_seconds.
  const std::vector<LinearShape>& linear_shapes() const noexcept { return linear_shapes_; }
  /// Floating-point operations of the matrix products of one sample, forward and backward.
  double matmul_flops_per_sample() const noexcept;

 protected:
  DenseModel() = default;
  DenseModel(const DenseModel&) = delete;
  DenseModel& operator=(const DenseModel&) = delete;

  /// Makes the flat buffers once the layers have added their arrays.
  void allocate();

  device::Stream stream_;
  device::Buffer<float> parameters_;
  device::Buffer<float> gradients_;
  device::Buffer<float> state_;
  std::vector<ParameterInfo> parameter_info_;
  std::vector<ParameterInfo> state_info_;
  std::vector<LinearShape> linear_shapes_;
};

/// Builds the model of `config`, weights drawn from (seed, name of the array) as PyTorch's Linear
/// does it: uniform in ±1/√in. Throws ConfigError if the shape does not fit (dlrm needs dense
/// features, slots, and equal dims). What the models compute is in docs/model.md.
std::unique_ptr<DenseModel> make_model(const config::ModelConfig& config, const ModelShape& shape,
                                       std::uint64_t seed);

}  // namespace satrap::nn
