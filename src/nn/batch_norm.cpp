#include "nn/batch_norm.hpp"

#include <algorithm>
#include <cmath>

#include "nn/ops/batch_norm.hpp"

namespace satrap::nn {
namespace {

constexpr double kEps = 1e-5;
constexpr double kMomentum = 0.1;

float inverse_root(double variance) {
  return static_cast<float>(1.0 / std::sqrt(variance + kEps));
}

/// Moves a running statistic towards that of the batch.
void move_towards(float& running, double value) {
  running =
      static_cast<float>((1.0 - kMomentum) * static_cast<double>(running) + kMomentum * value);
}

}  // namespace

BatchNorm::BatchNorm(std::vector<ParameterInfo>& parameters, std::vector<ParameterInfo>& state,
                     const std::string& name, std::int64_t width, std::int64_t stride)
    : width_(width),
      stride_(stride),
      scale_(add_array(parameters, name + "/scale", {width})),
      shift_(add_array(parameters, name + "/shift", {width})),
      running_mean_(add_array(state, name + "/running_mean", {width})),
      running_var_(add_array(state, name + "/running_var", {width})),
      mean_(width),
      inverse_deviation_(width),
      sums_(2 * width),
      dy_mean_(width),
      dy_x_mean_(width) {}

void BatchNorm::initialize(float* parameters, float* state) const {
  std::fill_n(parameters + scale_, width_, 1.0f);
  std::fill_n(parameters + shift_, width_, 0.0f);
  std::fill_n(state + running_mean_, width_, 0.0f);
  std::fill_n(state + running_var_, width_, 1.0f);
}

/// The statistics of the batch, also into the running ones.
void BatchNorm::measure(const device::Stream& stream, float* state) {
  const auto n = static_cast<double>(batch_);
  double* const mean = sums_.data();
  double* const squares = mean + width_;
  std::ranges::fill(sums_.span(), 0.0);
  device::launch_rows(stream, batch_, width_, ops::ColumnSums{x_, width_, mean});
  for (std::int64_t i = 0; i < width_; ++i) mean[i] /= n;
  device::launch_rows(stream, batch_, width_, ops::ColumnSquares{x_, width_, mean, squares});
  for (std::int64_t i = 0; i < width_; ++i) {
    mean_.data()[i] = static_cast<float>(mean[i]);
    inverse_deviation_.data()[i] = inverse_root(squares[i] / n);
    move_towards(state[running_mean_ + i], mean[i]);
    move_towards(state[running_var_ + i], squares[i] / (n - 1.0));
  }
}

void BatchNorm::forward(const device::Stream& stream, const float* parameters, float* state,
                        std::int64_t batch, const float* x, float* y, bool training) {
  batch_ = batch;
  x_ = x;
  measured_ = training && batch > 1;
  if (measured_) {
    measure(stream, state);
  } else {
    std::copy_n(state + running_mean_, width_, mean_.data());
    std::transform(state + running_var_, state + running_var_ + width_, inverse_deviation_.data(),
                   inverse_root);
  }
  device::launch_rows(stream, batch, width_,
                      ops::Normalize{x, width_, mean_.data(), inverse_deviation_.data(),
                                     parameters + scale_, parameters + shift_, y, stride_});
}

void BatchNorm::backward(const device::Stream& stream, const float* parameters, const float* dy,
                         float* dx, float* gradients) {
  double* const scale_sums = sums_.data();
  double* const shift_sums = scale_sums + width_;
  std::ranges::fill(sums_.span(), 0.0);
  device::launch_rows(stream, batch_, width_,
                      ops::NormalizeGradients{x_, width_, mean_.data(), inverse_deviation_.data(),
                                              dy, stride_, scale_sums, shift_sums});
  // Statistics that come from the batch carry gradient back to every sample of it.
  const double share = measured_ ? 1.0 / static_cast<double>(batch_) : 0.0;
  for (std::int64_t i = 0; i < width_; ++i) {
    gradients[scale_ + i] = static_cast<float>(scale_sums[i]);
    gradients[shift_ + i] = static_cast<float>(shift_sums[i]);
    dy_mean_.data()[i] = static_cast<float>(shift_sums[i] * share);
    dy_x_mean_.data()[i] = static_cast<float>(scale_sums[i] * share);
  }
  device::launch_rows(stream, batch_, width_,
                      ops::NormalizeInputGradient{
                          x_, width_, mean_.data(), inverse_deviation_.data(), parameters + scale_,
                          dy, stride_, dy_mean_.data(), dy_x_mean_.data(), dx});
}

}  // namespace satrap::nn
