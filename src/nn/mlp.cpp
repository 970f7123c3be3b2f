#include "nn/mlp.hpp"

namespace satrap::nn {

Mlp::Mlp(std::vector<ParameterInfo>& layout, const std::string& name, std::int64_t in,
         const std::vector<std::int64_t>& widths, Linear::Output hidden, Linear::Output last,
         bool input_gradient)
    : outputs_(widths.size()) {
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const LinearShape shape{i == 0 ? in : widths[i - 1], widths[i], i > 0 || input_gradient};
    layers_.emplace_back(layout, name + "/" + std::to_string(i), shape,
                         i + 1 < widths.size() ? hidden : last);
  }
}

void Mlp::initialize(std::uint64_t seed, float* parameters) const {
  for (const Linear& layer : layers_) layer.initialize(seed, parameters);
}

const float* Mlp::forward(const float* parameters, std::int64_t batch, const float* x) {
  batch_ = batch;
  input_ = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    outputs_[i].grow(batch * layers_[i].shape().out);
    layers_[i].forward(parameters, batch, x, outputs_[i].data());
    x = outputs_[i].data();
  }
  return x;
}

float* Mlp::backward(const device::Stream& stream, const float* parameters, float* dy,
                     float* gradients, const GradientsReady& ready) {
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const Linear& layer = layers_[i];
    float* dx = nullptr;
    if (layer.shape().input_gradient) {
      gradients_[i % 2].grow(batch_ * layer.shape().in);
      dx = gradients_[i % 2].data();
    }
    const float* x = i == 0 ? input_ : outputs_[i - 1].data();
    layer.backward(stream, parameters, batch_, x, outputs_[i].data(), dy, dx, gradients);
    if (ready) ready(layer.offset());
    dy = dx;
  }
  return dy;
}

}  // namespace satrap::nn
