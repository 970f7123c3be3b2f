#pragma once

#include <cstdint>

#include "device/memory.hpp"

namespace satrap::nn {

/// DLRM's dot interaction. The features of a sample are the bottom output (feature 0) and the
/// pooled vectors of the slots (1 .. slots), each [dim]. Its output is
///
///     | bottom output [dim] | f1·f0 | f2·f0  f2·f1 | f3·f0  f3·f1  f3·f2 | ...
///
/// the strictly lower triangle of their products, row by row.
class Interaction {
 public:
  Interaction(std::int64_t slots, std::int64_t dim);

  /// Floats per sample of the output: dim + slots·(slots + 1)/2.
  std::int64_t width() const noexcept { return dim_ + slots_ * (slots_ + 1) / 2; }

  /// out [batch, width] from bottom [batch, dim] and pooled [batch, slots, dim].
  void forward(std::int64_t batch, const float* bottom, const float* pooled, float* out);

  /// d_bottom and d_pooled from d_out, shaped as their namesakes of forward.
  void backward(std::int64_t batch, const float* bottom, const float* pooled, const float* d_out,
                float* d_bottom, float* d_pooled);

 private:
  /// The features of one sample into features_.
  void gather(const float* bottom, const float* pooled);

  std::int64_t slots_;
  std::int64_t dim_;
  // Sizes and scratch of one sample, padded to whole tiles: see interaction.cpp.
  std::int64_t rows_;
  std::int64_t square_;
  std::int64_t dims_;
  device::Buffer<float> features_;
  device::Buffer<float> columns_;
  device::Buffer<float> products_;
  device::Buffer<float> gradients_;
};

}  // namespace satrap::nn
