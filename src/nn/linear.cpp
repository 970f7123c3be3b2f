#include "nn/linear.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/hash.hpp"
#include "core/random.hpp"
#include "nn/ops/linear.hpp"

namespace satrap::nn {

Linear::Linear(std::vector<ParameterInfo>& layout, std::string name, LinearShape shape,
               Output output, std::int64_t stride)
    : name_(std::move(name)),
      shape_(shape),
      output_(output),
      stride_(stride == 0 ? shape.out : stride),
      weight_(add_array(layout, name_ + "/weight", {shape.out, shape.in})),
      bias_(add_array(layout, name_ + "/bias", {shape.out})),
      product_(shape.in, shape.out, stride_, output == Output::relu) {}

void Linear::initialize(std::uint64_t seed, float* parameters) const {
  const auto range = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape_.in)));
  const auto fill = [&](const char* array, float* values, std::int64_t size) {
    RandomSequence random(seed, RandomStream::dense_init, hash_bytes(name_ + array));
    std::generate_n(values, size, [&] { return range * (2.0f * unit_float(random()) - 1.0f); });
  };
  fill("/weight", parameters + weight_, shape_.out * shape_.in);
  fill("/bias", parameters + bias_, shape_.out);
}

void Linear::forward(const float* parameters, std::int64_t batch, const float* x, float* y) {
  product_.run(batch, x, parameters + weight_, parameters + bias_, y);
}

void Linear::backward(const device::Stream& stream, const float* parameters, std::int64_t batch,
                      const float* x, const float* y, float* dy, float* dx,
                      float* gradients) const {
  float* bias_gradient = gradients + bias_;
  std::fill_n(bias_gradient, shape_.out, 0.0f);
  if (output_ == Output::relu) {
    device::launch_rows(stream, batch, shape_.out,
                        ops::ReluBiasGradient{y, dy, stride_, bias_gradient});
  } else {
    device::launch_rows(stream, batch, shape_.out, ops::BiasGradient{dy, stride_, bias_gradient});
  }
  linear_weight_gradient(batch, shape_.in, shape_.out, dy, stride_, x, gradients + weight_);
  if (shape_.input_gradient) {
    linear_input_gradient(batch, shape_.in, shape_.out, dy, stride_, parameters + weight_, dx);
  }
}

}  // namespace satrap::nn
