#pragma once

#include <cstdint>

#include "device/stream.hpp"

namespace satrap::nn::ops {

// Over matrices of `width` columns; `stride` is the floats from row to row of the one that is a
// part of a wider matrix. Sums over the batch are in double.

/// sums [width] += x
struct ColumnSums {
  const float* x;
  std::int64_t width;
  double* sums;

  SATRAP_KERNEL void operator()(std::int64_t row, std::int64_t column) const {
    sums[column] += static_cast<double>(x[row * width + column]);
  }
};

/// squares [width] += (x − mean)²
struct ColumnSquares {
  const float* x;
  std::int64_t width;
  const double* mean;
  double* squares;

  SATRAP_KERNEL void operator()(std::int64_t row, std::int64_t column) const {
    const double centered = static_cast<double>(x[row * width + column]) - mean[column];
    squares[column] += centered * centered;
  }
};

/// y = (x − mean) · inverse_deviation · scale + shift
struct Normalize {
  const float* x;
  std::int64_t width;
  const float* mean;
  const float* inverse_deviation;
  const float* scale;
  const float* shift;
  float* y;
  std::int64_t stride;

  SATRAP_KERNEL void operator()(std::int64_t row, std::int64_t column) const {
    const float normal = (x[row * width + column] - mean[column]) * inverse_deviation[column];
    y[row * stride + column] = normal * scale[column] + shift[column];
  }
};

/// scale_sums [width] += dy · normalised x, shift_sums [width] += dy
struct NormalizeGradients {
  const float* x;
  std::int64_t width;
  const float* mean;
  const float* inverse_deviation;
  const float* dy;
  std::int64_t stride;
  double* scale_sums;
  double* shift_sums;

  SATRAP_KERNEL void operator()(std::int64_t row, std::int64_t column) const {
    const float normal = (x[row * width + column] - mean[column]) * inverse_deviation[column];
    const float gradient = dy[row * stride + column];
    scale_sums[column] += static_cast<double>(gradient * normal);
    shift_sums[column] += static_cast<double>(gradient);
  }
};

/// dx = scale · inverse_deviation · (dy − dy_mean − normalised x · dy_x_mean), the means being
/// those over the batch of dy and of dy · normalised x; zeros where the statistics are constants.
struct NormalizeInputGradient {
  const float* x;
  std::int64_t width;
  const float* mean;
  const float* inverse_deviation;
  const float* scale;
  const float* dy;
  std::int64_t stride;
  const float* dy_mean;
  const float* dy_x_mean;
  float* dx;

  SATRAP_KERNEL void operator()(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = row * width + column;
    const float normal = (x[i] - mean[column]) * inverse_deviation[column];
    dx[i] = scale[column] * inverse_deviation[column] *
            (dy[row * stride + column] - dy_mean[column] - normal * dy_x_mean[column]);
  }
};

}  // namespace satrap::nn::ops
