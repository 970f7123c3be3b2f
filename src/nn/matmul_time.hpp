#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/memory.hpp"
#include "nn/matmul.hpp"

namespace satrap::nn {

/// The matrix products of one training step over `batch` samples and nothing else: what no step of
/// a model with these layers can beat on this machine. The numbers in the buffers mean nothing.
class BareProducts {
 public:
  BareProducts(std::span<const LinearShape> layers, std::int64_t batch);

  /// All products once, forward from the first layer to the last, then backward.
  void run();

 private:
  struct Layer {
    LinearShape shape;
    LinearForward forward;
    device::Buffer<float> x, weight, bias, y, x_gradient, weight_gradient;
  };

  std::int64_t batch_;
  std::vector<Layer> layers_;
};

/// Seconds on the clock for one run of BareProducts: the best of `repetitions`, after one that
/// warms up.
double matmul_seconds(std::span<const LinearShape> layers, std::int64_t batch, int repetitions);

}  // namespace satrap::nn
