#include "nn/dlrm.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"

namespace satrap::nn {
namespace {

/// The dim that all features of the interaction share.
std::int64_t common_dim(const ModelShape& shape) {
  if (shape.dense_features < 1 || shape.slot_dims.empty()) {
    throw ConfigError(
        fmt::format("model.kind = dlrm with {} dense features and {} slots", shape.dense_features,
                    shape.slot_dims.size()),
        "it multiplies the dense features with the slots and needs at least one of each",
        "use model.kind = ffnn");
  }
  const std::int64_t dim = shape.slot_dims.front();
  const auto other = std::ranges::find_if(shape.slot_dims, [&](auto d) { return d != dim; });
  if (other != shape.slot_dims.end()) {
    throw ConfigError(
        fmt::format("model.kind = dlrm with tables of dim {} and dim {}", dim, *other),
        "it takes dot products between the slots", "give all tables the same dim");
  }
  return dim;
}

std::vector<std::int64_t> with_last(std::vector<std::int64_t> widths, std::int64_t last) {
  widths.push_back(last);
  return widths;
}

}  // namespace

Dlrm::Dlrm(const config::ModelConfig& config, const ModelShape& shape, std::uint64_t seed)
    : dim_(common_dim(shape)),
      pooled_width_(shape.pooled_width()),
      bottom_(parameter_info_, "bottom", shape.dense_features, with_last(config.bottom, dim_),
              Linear::Output::relu, Linear::Output::relu, false),
      interaction_(static_cast<std::int64_t>(shape.slot_dims.size()), dim_),
      top_(parameter_info_, "top", interaction_.width(), with_last(config.top, 1),
           Linear::Output::relu, Linear::Output::linear, true) {
  allocate();
  for (const Mlp* mlp : {&bottom_, &top_}) {
    mlp->initialize(seed, parameters_.data());
    for (const Linear& layer : mlp->layers()) linear_shapes_.push_back(layer.shape());
  }
}

std::span<const float> Dlrm::forward(std::int64_t batch, const float* dense, const float* pooled,
                                     bool /*training*/) {
  batch_ = batch;
  pooled_ = pooled;
  interactions_.grow(batch * interaction_.width());
  bottom_output_ = bottom_.forward(parameters_.data(), batch, dense);
  interaction_.forward(batch, bottom_output_, pooled, interactions_.data());
  const float* logits = top_.forward(parameters_.data(), batch, interactions_.data());
  return {logits, static_cast<std::size_t>(batch)};
}

std::span<const float> Dlrm::backward(const float* logit_gradients, const GradientsReady& ready) {
  logit_gradients_.grow(batch_);
  bottom_gradients_.grow(batch_ * dim_);
  pooled_gradients_.grow(batch_ * pooled_width_);
  std::copy_n(logit_gradients, batch_, logit_gradients_.data());
  const float* d_interactions =
      top_.backward(stream_, parameters_.data(), logit_gradients_.data(), gradients_.data(), ready);
  interaction_.backward(batch_, bottom_output_, pooled_, d_interactions, bottom_gradients_.data(),
                        pooled_gradients_.data());
  bottom_.backward(stream_, parameters_.data(), bottom_gradients_.data(), gradients_.data(), ready);
  return {pooled_gradients_.data(), static_cast<std::size_t>(batch_ * pooled_width_)};
}

}  // namespace satrap::nn
