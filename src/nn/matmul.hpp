#pragma once

#include <cstdint>
#include <memory>

namespace satrap::nn {

// The matrix products of a linear layer, by oneDNN; the only place that knows it. All matrices are
// fp32 and row-major: x [batch, in], weight [out, in], y [batch, out], dx, dweight and dy as x,
// weight and y. `stride` is the floats from one row of y or dy to the next. Any size may be 0.
// Failures of oneDNN throw InternalError.

struct LinearShape {
  std::int64_t in = 0;
  std::int64_t out = 0;
  /// Whether backward gives dL/dx; the first layer over the data needs none.
  bool input_gradient = true;

  /// Multiplications and additions for one sample, forward and backward.
  double flops() const noexcept {
    return 2.0 * static_cast<double>(in) * static_cast<double>(out) * (input_gradient ? 3 : 2);
  }
};

/// y = x·weightᵀ + bias, cut off at 0 if `relu`, in one pass over y. Keeps what oneDNN compiled for
/// the latest batch sizes, so that the smaller last step of an epoch or an evaluation between
/// training steps compiles nothing again. Not thread-safe.
class LinearForward {
 public:
  LinearForward(std::int64_t in, std::int64_t out, std::int64_t stride, bool relu);
  ~LinearForward();
  LinearForward(LinearForward&&) noexcept;
  LinearForward& operator=(LinearForward&&) noexcept;

  void run(std::int64_t batch, const float* x, const float* weight, const float* bias, float* y);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// dx = dy·weight
void linear_input_gradient(std::int64_t batch, std::int64_t in, std::int64_t out, const float* dy,
                           std::int64_t stride, const float* weight, float* dx);

/// dweight = dyᵀ·x
void linear_weight_gradient(std::int64_t batch, std::int64_t in, std::int64_t out, const float* dy,
                            std::int64_t stride, const float* x, float* dweight);

}  // namespace satrap::nn
