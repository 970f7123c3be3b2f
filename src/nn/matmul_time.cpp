#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "device/memory.hpp"
#include "nn/matmul.hpp"

namespace satrap::nn {
namespace {

/// One layer with buffers of its own, as a training step has them.
class Products {
 public:
  Products(const LinearShape& shape, std::int64_t batch)
      : shape_(shape),
        batch_(batch),
        forward_(shape.in, shape.out, shape.out, false),
        x_(batch * shape.in),
        y_(batch * shape.out),
        weight_(shape.in * shape.out),
        bias_(shape.out),
        x_gradient_(shape.input_gradient ? x_.size() : 0),
        weight_gradient_(weight_.size()) {
    std::ranges::fill(x_.span(), 0.5f);
    std::ranges::fill(weight_.span(), 0.01f);
  }

  void forward() { forward_.run(batch_, x_.data(), weight_.data(), bias_.data(), y_.data()); }

  /// y stands for its gradient: the numbers do not matter here.
  void backward() {
    linear_weight_gradient(batch_, shape_.in, shape_.out, y_.data(), shape_.out, x_.data(),
                           weight_gradient_.data());
    if (shape_.input_gradient) {
      linear_input_gradient(batch_, shape_.in, shape_.out, y_.data(), shape_.out, weight_.data(),
                            x_gradient_.data());
    }
  }

 private:
  LinearShape shape_;
  std::int64_t batch_;
  LinearForward forward_;
  device::Buffer<float> x_;
  device::Buffer<float> y_;
  device::Buffer<float> weight_;
  device::Buffer<float> bias_;
  device::Buffer<float> x_gradient_;
  device::Buffer<float> weight_gradient_;
};

}  // namespace

double matmul_seconds(std::span<const LinearShape> layers, std::int64_t batch, int repetitions) {
  std::vector<Products> products;
  products.reserve(layers.size());
  for (const LinearShape& layer : layers) products.emplace_back(layer, batch);

  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i <= repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    for (Products& layer : products) layer.forward();
    for (auto layer = products.rbegin(); layer != products.rend(); ++layer) layer->backward();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (i > 0) best = std::min(best, taken.count());  // the first pass compiles
  }
  return best;
}

}  // namespace satrap::nn
