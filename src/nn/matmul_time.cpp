#include "nn/matmul_time.hpp"

#include <algorithm>
#include <chrono>
#include <limits>

namespace satrap::nn {

BareProducts::BareProducts(std::span<const LinearShape> layers, std::int64_t batch)
    : batch_(batch) {
  for (const LinearShape& shape : layers) {
    using Floats = device::Buffer<float>;
    Layer& layer = layers_.emplace_back(
        Layer{shape, LinearForward(shape.in, shape.out, shape.out, false), Floats(batch * shape.in),
              Floats(shape.in * shape.out), Floats(shape.out), Floats(batch * shape.out),
              Floats(shape.input_gradient ? batch * shape.in : 0), Floats(shape.in * shape.out)});
    std::ranges::fill(layer.x.span(), 0.5f);
    std::ranges::fill(layer.weight.span(), 0.01f);
  }
}

void BareProducts::run() {
  for (Layer& layer : layers_) {
    layer.forward.run(batch_, layer.x.data(), layer.weight.data(), layer.bias.data(),
                      layer.y.data());
  }
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    const auto [in, out, input_gradient] = layer->shape;
    // y stands for its gradient.
    linear_weight_gradient(batch_, in, out, layer->y.data(), out, layer->x.data(),
                           layer->weight_gradient.data());
    if (input_gradient) {
      linear_input_gradient(batch_, in, out, layer->y.data(), out, layer->weight.data(),
                            layer->x_gradient.data());
    }
  }
}

double matmul_seconds(std::span<const LinearShape> layers, std::int64_t batch, int repetitions) {
  BareProducts products(layers, batch);
  products.run();
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    products.run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
  }
  return best;
}

}  // namespace satrap::nn
