#include "nn/interaction.hpp"

#include <algorithm>
#include <array>

namespace satrap::nn {
namespace {

// Products of so small matrices are too short for a library call: the kernels below keep blocks of
// kLanes sums in vector registers, and pad the features of a sample so that all blocks are whole.
constexpr std::int64_t kLanes = 8;
using Block = std::array<float, kLanes>;

constexpr std::int64_t padded(std::int64_t n) {
  return (n + kLanes - 1) / kLanes * kLanes;
}

/// sums += factor · values[0 .. kLanes)
inline void add_scaled(Block& sums, float factor, const float* values) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += factor * values[lane];
}

}  // namespace

Interaction::Interaction(std::int64_t slots, std::int64_t dim)
    : slots_(slots),
      dim_(dim),
      scratch_(std::max(dim * padded(slots + 1), (slots + 1) * padded(dim))) {}

void Interaction::forward(std::int64_t batch, const float* bottom, const float* pooled,
                          float* out) {
  // The scratch holds the features as columns, so that a block is the products of one feature with
  // kLanes others.
  const std::int64_t columns = padded(slots_ + 1);
  float* const features = scratch_.data();
  std::fill_n(features, scratch_.size(), 0.0f);
  for (std::int64_t sample = 0; sample < batch; ++sample) {
    const auto feature = [&](std::int64_t i) {
      return i == 0 ? bottom + sample * dim_ : pooled + (sample * slots_ + i - 1) * dim_;
    };
    for (std::int64_t i = 0; i <= slots_; ++i) {
      const float* values = feature(i);
      for (std::int64_t k = 0; k < dim_; ++k) features[k * columns + i] = values[k];
    }
    float* row = std::copy_n(feature(0), dim_, out + sample * width());
    for (std::int64_t i = 1; i <= slots_; row += i, ++i) {
      const float* values = feature(i);
      for (std::int64_t j = 0; j < i; j += kLanes) {
        Block products{};
        for (std::int64_t k = 0; k < dim_; ++k) {
          add_scaled(products, values[k], features + k * columns + j);
        }
        std::copy_n(products.data(), std::min(kLanes, i - j), row + j);
      }
    }
  }
}

void Interaction::backward(std::int64_t batch, const float* bottom, const float* pooled,
                           const float* d_out, float* d_bottom, float* d_pooled) {
  const std::int64_t columns = padded(dim_);
  float* const features = scratch_.data();
  std::fill_n(features, scratch_.size(), 0.0f);
  for (std::int64_t sample = 0; sample < batch; ++sample) {
    std::copy_n(bottom + sample * dim_, dim_, features);
    for (std::int64_t i = 1; i <= slots_; ++i) {
      std::copy_n(pooled + (sample * slots_ + i - 1) * dim_, dim_, features + i * columns);
    }
    const float* d_direct = d_out + sample * width();
    const float* d_products = d_direct + dim_;
    for (std::int64_t i = 0; i <= slots_; ++i) {
      float* d_feature =
          i == 0 ? d_bottom + sample * dim_ : d_pooled + (sample * slots_ + i - 1) * dim_;
      for (std::int64_t k = 0; k < dim_; k += kLanes) {
        const std::int64_t lanes = std::min(kLanes, dim_ - k);
        Block sums{};
        if (i == 0) std::copy_n(d_direct + k, lanes, sums.data());
        // Row i of the triangle holds the products with the features before i, its column i those
        // with the features after it.
        const float* d_product = d_products + i * (i - 1) / 2;
        for (std::int64_t j = 0; j < i; ++j) {
          add_scaled(sums, *d_product++, features + j * columns + k);
        }
        d_product += i;
        for (std::int64_t j = i + 1; j <= slots_; d_product += j, ++j) {
          add_scaled(sums, *d_product, features + j * columns + k);
        }
        std::copy_n(sums.data(), lanes, d_feature + k);
      }
    }
  }
}

}  // namespace satrap::nn
