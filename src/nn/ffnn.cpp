#include "nn/ffnn.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"

namespace satrap::nn {
namespace {

Linear::Output output_of(config::Activation activation) {
  return activation == config::Activation::relu ? Linear::Output::relu : Linear::Output::linear;
}

}  // namespace

Ffnn::Ffnn(const config::ModelConfig& config, const ModelShape& shape, std::uint64_t seed) {
  const std::int64_t sparse = shape.pooled_width() > 0 ? config.sparse_width : 0;
  const std::int64_t dense = shape.dense_features > 0 ? config.dense_width : 0;
  joined_width_ = sparse + dense;
  if (joined_width_ == 0) {
    throw ConfigError("model.kind = ffnn without slots and without dense features",
                      "there is nothing to learn from", "name columns in [data]");
  }
  // The arrays lie in the order of these lines; backward goes the other way.
  if (sparse > 0) {
    sparse_ = make_branch("sparse_in/0", "bn_sparse", {shape.pooled_width(), sparse, true}, 0,
                          config.batch_norm);
  }
  if (dense > 0) {
    dense_ = make_branch("dense_in/0", "bn_dense", {shape.dense_features, dense, false}, sparse,
                         config.batch_norm);
  }
  std::vector<std::int64_t> widths = config.top;
  widths.push_back(1);
  top_.emplace(parameter_info_, "top", joined_width_, widths, output_of(config.activation),
               Linear::Output::linear, true);

  allocate();
  for (const std::optional<Branch>* branch : {&sparse_, &dense_}) {
    if (!branch->has_value()) continue;
    (*branch)->linear.initialize(seed, parameters_.data());
    if ((*branch)->norm) (*branch)->norm->initialize(parameters_.data(), state_.data());
    linear_shapes_.push_back((*branch)->linear.shape());
  }
  top_->initialize(seed, parameters_.data());
  for (const Linear& layer : top_->layers()) linear_shapes_.push_back(layer.shape());
}

Ffnn::Branch Ffnn::make_branch(const std::string& name, const std::string& norm_name,
                               LinearShape shape, std::int64_t column, bool batch_norm) {
  Branch branch{Linear(parameter_info_, name, shape, Linear::Output::linear,
                       batch_norm ? shape.out : joined_width_),
                std::nullopt, column};
  if (batch_norm) {
    branch.norm.emplace(parameter_info_, state_info_, norm_name, shape.out, joined_width_);
  }
  return branch;
}

std::span<const float> Ffnn::forward(std::int64_t batch, const float* dense, const float* pooled,
                                     bool training) {
  batch_ = batch;
  joined_.grow(batch * joined_width_);
  if (sparse_) forward(*sparse_, pooled, training);
  if (dense_) forward(*dense_, dense, training);
  const float* logits = top_->forward(parameters_.data(), batch, joined_.data());
  return {logits, static_cast<std::size_t>(batch)};
}

void Ffnn::forward(Branch& branch, const float* input, bool training) {
  branch.input = input;
  float* const output = joined_.data() + branch.column;
  if (!branch.norm) {
    branch.linear.forward(parameters_.data(), batch_, input, output);
    return;
  }
  branch.hidden.grow(batch_ * branch.linear.shape().out);
  branch.linear.forward(parameters_.data(), batch_, input, branch.hidden.data());
  branch.norm->forward(stream_, parameters_.data(), state_.data(), batch_, branch.hidden.data(),
                       output, training);
}

std::span<const float> Ffnn::backward(const float* logit_gradients, const GradientsReady& ready) {
  logit_gradients_.grow(batch_);
  std::copy_n(logit_gradients, batch_, logit_gradients_.data());
  float* d_joined = top_->backward(stream_, parameters_.data(), logit_gradients_.data(),
                                   gradients_.data(), ready);
  if (dense_) backward(*dense_, d_joined, ready);
  if (!sparse_) return {};
  backward(*sparse_, d_joined, ready);
  const std::int64_t size = batch_ * sparse_->linear.shape().in;
  return {sparse_->input_gradient.data(), static_cast<std::size_t>(size)};
}

void Ffnn::backward(Branch& branch, float* d_joined, const GradientsReady& ready) {
  const LinearShape& shape = branch.linear.shape();
  float* d_output = d_joined + branch.column;
  if (branch.norm) {
    branch.hidden_gradient.grow(batch_ * shape.out);
    branch.norm->backward(stream_, parameters_.data(), d_output, branch.hidden_gradient.data(),
                          gradients_.data());
    if (ready) ready(branch.norm->offset());
    d_output = branch.hidden_gradient.data();
  }
  if (shape.input_gradient) branch.input_gradient.grow(batch_ * shape.in);
  // Without an activation the layer's own output plays no part in its gradient.
  branch.linear.backward(stream_, parameters_.data(), batch_, branch.input, nullptr, d_output,
                         branch.input_gradient.data(), gradients_.data());
  if (ready) ready(branch.linear.offset());
}

}  // namespace satrap::nn
