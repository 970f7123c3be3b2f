#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/stream.hpp"
#include "nn/matmul.hpp"
#include "nn/parameters.hpp"

namespace satrap::nn {

/// A fully connected layer y = x·Wᵀ + b, with a ReLU behind it if told so. Its arrays are
/// NAME/weight [out, in] and NAME/bias [out] of the model's flat buffers, which the caller passes
/// in. x [batch, in]; y and dy [batch, out] with `stride` floats from row to row.
class Linear {
 public:
  enum class Output { linear, relu };

  /// Adds the arrays to `layout`. `stride` 0 stands for `out`.
  Linear(std::vector<ParameterInfo>& layout, std::string name, LinearShape shape, Output output,
         std::int64_t stride = 0);

  const LinearShape& shape() const noexcept { return shape_; }
  /// Offset of the first of its arrays.
  std::int64_t offset() const noexcept { return weight_; }

  /// PyTorch's initial values: all uniform in ±1/√in, a function of (seed, name of the array).
  void initialize(std::uint64_t seed, float* parameters) const;

  void forward(const float* parameters, std::int64_t batch, const float* x, float* y);

  /// From dL/dy sets its arrays of `gradients`, and dx [batch, in] if the shape has one. Overwrites
  /// dy: behind a ReLU it becomes the gradient before it. x and y are those of forward.
  void backward(const device::Stream& stream, const float* parameters, std::int64_t batch,
                const float* x, const float* y, float* dy, float* dx, float* gradients) const;

 private:
  std::string name_;
  LinearShape shape_;
  Output output_;
  std::int64_t stride_;
  std::int64_t weight_;
  std::int64_t bias_;
  LinearForward product_;
};

}  // namespace satrap::nn
