#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "config/config.hpp"
#include "device/memory.hpp"
#include "nn/batch_norm.hpp"
#include "nn/linear.hpp"
#include "nn/mlp.hpp"
#include "nn/model.hpp"

namespace satrap::nn {

/// PERSIA's feed-forward network (Lian et al. 2021): one linear layer over the pooled vectors and
/// one over the dense features, each with batch normalisation behind it if `batch_norm`; an MLP
/// over both results. An input that the data does not have has no branch. Arrays: sparse_in/0,
/// bn_sparse, dense_in/0, bn_dense, top/I.
class Ffnn final : public DenseModel {
 public:
  Ffnn(const config::ModelConfig& config, const ModelShape& shape, std::uint64_t seed);

  std::span<const float> forward(std::int64_t batch, const float* dense, const float* pooled,
                                 bool training) override;
  std::span<const float> backward(const float* logit_gradients,
                                  const GradientsReady& ready) override;

 private:
  /// A linear layer and its normalisation, which write a part of the columns of `joined_`.
  struct Branch {
    Linear linear;
    std::optional<BatchNorm> norm;
    std::int64_t column;  ///< Where its part starts.
    const float* input = nullptr;
    device::Buffer<float> hidden{};           ///< [batch, out] before the normalisation
    device::Buffer<float> hidden_gradient{};  ///< the same
    device::Buffer<float> input_gradient{};   ///< [batch, in]
  };

  Branch make_branch(const std::string& name, const std::string& norm_name, LinearShape shape,
                     std::int64_t column, bool batch_norm);
  void forward(Branch& branch, const float* input, bool training);
  void backward(Branch& branch, float* d_joined, const GradientsReady& ready);

  std::int64_t joined_width_;
  std::optional<Branch> sparse_;
  std::optional<Branch> dense_;
  std::optional<Mlp> top_;

  std::int64_t batch_ = 0;                 ///< of the last forward
  device::Buffer<float> joined_;           ///< [batch, joined width]
  device::Buffer<float> logit_gradients_;  ///< [batch]
};

}  // namespace satrap::nn
