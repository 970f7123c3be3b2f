#include "nn/interaction.hpp"

// Without this Highway takes a processor with AVX2 but not surely AES for one with SSSE3.
#define HWY_DISABLE_PCLMUL_AES
#include <hwy/highway.h>

#include <algorithm>

namespace satrap::nn {
namespace {

// The products of one sample are too small for a library call. Both directions are sums of tiles
// that stay in vector registers: kTileRows rows of kTileColumns sums.
namespace hn = hwy::HWY_NAMESPACE;
constexpr hn::CappedTag<float, 8> kVector;
constexpr std::int64_t kLanes = hn::MaxLanes(kVector);
constexpr std::int64_t kTileRows = 4;
constexpr std::int64_t kTileVectors = 2;
constexpr std::int64_t kTileColumns = kTileVectors * kLanes;

constexpr std::int64_t round_up(std::int64_t n, std::int64_t unit) {
  return (n + unit - 1) / unit * unit;
}

class Tile {
 public:
  Tile() {
    for (auto& row : sums_) {
      for (Vector& sum : row) sum = hn::Zero(kVector);
    }
  }

  /// Adds a·b with a [kTileRows, n], whose element (r, k) is a[r · row_step + k · step], and b
  /// [n, kTileColumns], whose rows are b_stride apart.
  void add(std::int64_t n, const float* a, std::int64_t row_step, std::int64_t step, const float* b,
           std::int64_t b_stride) {
    for (std::int64_t k = 0; k < n; ++k, a += step, b += b_stride) {
      Vector columns[kTileVectors];
      for (std::int64_t v = 0; v < kTileVectors; ++v) {
        columns[v] = hn::LoadU(kVector, b + v * kLanes);
      }
      for (std::int64_t r = 0; r < kTileRows; ++r) {
        const Vector factor = hn::Set(kVector, a[r * row_step]);
        for (std::int64_t v = 0; v < kTileVectors; ++v) {
          sums_[r][v] = hn::MulAdd(factor, columns[v], sums_[r][v]);
        }
      }
    }
  }

  void store(float* out, std::int64_t stride) const {
    for (std::int64_t r = 0; r < kTileRows; ++r) {
      for (std::int64_t v = 0; v < kTileVectors; ++v) {
        hn::StoreU(sums_[r][v], kVector, out + r * stride + v * kLanes);
      }
    }
  }

 private:
  using Vector = hn::Vec<decltype(kVector)>;
  Vector sums_[kTileRows][kTileVectors];
};

/// out [columns, rows] = transpose of in [rows, columns]; both sizes multiples of 4.
void transpose(std::int64_t rows, std::int64_t columns, const float* in, std::int64_t in_stride,
               float* out, std::int64_t out_stride) {
  constexpr hn::FixedTag<float, 4> kFour;
  for (std::int64_t i = 0; i < rows; i += 4) {
    for (std::int64_t j = 0; j < columns; j += 4) {
      const float* from = in + i * in_stride + j;
      const auto row0 = hn::LoadU(kFour, from);
      const auto row1 = hn::LoadU(kFour, from + in_stride);
      const auto row2 = hn::LoadU(kFour, from + 2 * in_stride);
      const auto row3 = hn::LoadU(kFour, from + 3 * in_stride);
      const auto even_low = hn::InterleaveLower(kFour, row0, row2);
      const auto odd_low = hn::InterleaveLower(kFour, row1, row3);
      const auto even_high = hn::InterleaveUpper(kFour, row0, row2);
      const auto odd_high = hn::InterleaveUpper(kFour, row1, row3);
      float* to = out + j * out_stride + i;
      hn::StoreU(hn::InterleaveLower(kFour, even_low, odd_low), kFour, to);
      hn::StoreU(hn::InterleaveUpper(kFour, even_low, odd_low), kFour, to + out_stride);
      hn::StoreU(hn::InterleaveLower(kFour, even_high, odd_high), kFour, to + 2 * out_stride);
      hn::StoreU(hn::InterleaveUpper(kFour, even_high, odd_high), kFour, to + 3 * out_stride);
    }
  }
}

}  // namespace

// Scratch of one sample, its padding zero:
//     features  [rows, dims]    the feature vectors, one per row
//     columns   [dims, square]  the same, one per column (forward)
//     products  [rows, square]  their products or the gradients of these, below the diagonal
//     gradients [rows, dims]    of the features (backward)
Interaction::Interaction(std::int64_t slots, std::int64_t dim)
    : slots_(slots),
      dim_(dim),
      rows_(round_up(slots + 1, kTileRows)),
      square_(round_up(slots + 1, kTileColumns)),
      dims_(round_up(dim, kTileColumns)),
      features_(rows_ * dims_),
      columns_(dims_ * square_),
      products_(rows_ * square_),
      gradients_(rows_ * dims_) {}

void Interaction::gather(const float* bottom, const float* pooled) {
  std::copy_n(bottom, dim_, features_.data());
  for (std::int64_t i = 1; i <= slots_; ++i) {
    std::copy_n(pooled + (i - 1) * dim_, dim_, features_.data() + i * dims_);
  }
}

void Interaction::forward(std::int64_t batch, const float* bottom, const float* pooled,
                          float* out) {
  for (std::int64_t sample = 0; sample < batch; ++sample) {
    gather(bottom + sample * dim_, pooled + sample * slots_ * dim_);
    transpose(rows_, round_up(dim_, 4), features_.data(), dims_, columns_.data(), square_);
    for (std::int64_t i = 0; i < rows_; i += kTileRows) {
      for (std::int64_t j = 0; j < i + kTileRows; j += kTileColumns) {
        Tile tile;
        tile.add(dim_, features_.data() + i * dims_, dims_, 1, columns_.data() + j, square_);
        tile.store(products_.data() + i * square_ + j, square_);
      }
    }
    float* row = std::copy_n(bottom + sample * dim_, dim_, out + sample * width());
    for (std::int64_t i = 1; i <= slots_; ++i) {
      row = std::copy_n(products_.data() + i * square_, i, row);
    }
  }
}

void Interaction::backward(std::int64_t batch, const float* bottom, const float* pooled,
                           const float* d_out, float* d_bottom, float* d_pooled) {
  std::ranges::fill(products_.span(), 0.0f);  // what forward left on and above the diagonal
  for (std::int64_t sample = 0; sample < batch; ++sample) {
    gather(bottom + sample * dim_, pooled + sample * slots_ * dim_);
    const float* const d_direct = d_out + sample * width();
    const float* d_product = d_direct + dim_;
    for (std::int64_t i = 1; i <= slots_; d_product += i, ++i) {
      std::copy_n(d_product, i, products_.data() + i * square_);
    }
    for (std::int64_t i = 0; i < rows_; i += kTileRows) {
      for (std::int64_t k = 0; k < dims_; k += kTileColumns) {
        // A feature's products with those before it are a row of the triangle; with those after
        // it, a column.
        const float* const features = features_.data() + k;
        Tile tile;
        tile.add(i + kTileRows, products_.data() + i * square_, square_, 1, features, dims_);
        tile.add(rows_ - i, products_.data() + i * square_ + i, 1, square_, features + i * dims_,
                 dims_);
        tile.store(gradients_.data() + i * dims_ + k, dims_);
      }
    }
    const float* gradient = gradients_.data();
    for (std::int64_t k = 0; k < dim_; ++k) {
      d_bottom[sample * dim_ + k] = d_direct[k] + gradient[k];
    }
    for (std::int64_t i = 1; i <= slots_; ++i) {
      std::copy_n(gradient + i * dims_, dim_, d_pooled + (sample * slots_ + i - 1) * dim_);
    }
  }
}

}  // namespace satrap::nn
