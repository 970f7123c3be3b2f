#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/memory.hpp"
#include "device/stream.hpp"
#include "nn/parameters.hpp"

namespace satrap::nn {

/// Batch normalisation (Ioffe and Szegedy 2015) with PyTorch's conventions: eps 1e-5 added to the
/// biased variance of the batch, and running statistics that move by 0.1 per step towards the mean
/// and the unbiased variance. A training batch of fewer than two samples has no variance: it is
/// normalised by the running statistics, as in evaluation, and leaves them as they are.
///
/// Arrays: NAME/scale and NAME/shift [width] of the parameters, NAME/running_mean and
/// NAME/running_var [width] of the state. x and dx [batch, width]; y and dy have `stride` floats
/// from row to row.
class BatchNorm {
 public:
  BatchNorm(std::vector<ParameterInfo>& parameters, std::vector<ParameterInfo>& state,
            const std::string& name, std::int64_t width, std::int64_t stride);

  std::int64_t offset() const noexcept { return scale_; }

  /// Scale 1, shift 0; running mean 0, running variance 1.
  void initialize(float* parameters, float* state) const;

  /// x must live until backward has returned.
  void forward(const device::Stream& stream, const float* parameters, float* state,
               std::int64_t batch, const float* x, float* y, bool training);
  void backward(const device::Stream& stream, const float* parameters, const float* dy, float* dx,
                float* gradients);

 private:
  void measure(const device::Stream& stream, float* state);

  std::int64_t width_;
  std::int64_t stride_;
  std::int64_t scale_;
  std::int64_t shift_;
  std::int64_t running_mean_;
  std::int64_t running_var_;

  // Of the last forward.
  std::int64_t batch_ = 0;
  const float* x_ = nullptr;
  bool measured_ = false;  ///< Whether the statistics are those of the batch.
  device::Buffer<float> mean_;
  device::Buffer<float> inverse_deviation_;

  device::Buffer<double> sums_;  ///< [2, width]
  device::Buffer<float> dy_mean_;
  device::Buffer<float> dy_x_mean_;
};

}  // namespace satrap::nn
