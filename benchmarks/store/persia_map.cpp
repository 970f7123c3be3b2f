#include "persia_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "core/random.hpp"

namespace satrap::bench {
namespace {

/// In eight sums, which the compiler turns into vectors.
float mean_square(const float* x, std::size_t n) {
  std::array<float, 8> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= n; i += sums.size()) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += x[i + k] * x[i + k];
  }
  for (; i < n; ++i) sums[0] += x[i] * x[i];
  return std::accumulate(sums.begin(), sums.end(), 0.0f) / static_cast<float>(n);
}

}  // namespace

PersiaMap::PersiaMap(const config::TableConfig& config, std::size_t rows, std::uint64_t seed)
    : dim_(static_cast<std::size_t>(config.dim)),
      lr_(static_cast<float>(config.lr)),
      eps_(static_cast<float>(config.eps)),
      init_range_(static_cast<float>(config.init_range)),
      seed_(seed) {
  row_of_.reserve(rows);
}

PersiaMap::Rows::iterator PersiaMap::insert(FeatureId id) {
  rows_.push_front({id, std::vector<float>(dim_ + 1)});
  initial_row(seed_, TableId{0}, id, init_range_, std::span(rows_.front().values).first(dim_));
  row_of_.emplace(id, rows_.begin());
  return rows_.begin();
}

void PersiaMap::lookup(std::span<const FeatureId> ids, float* out) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto found = row_of_.find(ids[i]);
    const auto row = found == row_of_.end() ? insert(ids[i]) : found->second;
    rows_.splice(rows_.begin(), rows_, row);
    std::copy_n(row->values.begin(), dim_, out + i * dim_);
  }
}

void PersiaMap::apply(std::span<const FeatureId> ids, const float* gradients) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto found = row_of_.find(ids[i]);
    if (found == row_of_.end()) continue;
    float* __restrict w = found->second->values.data();
    const float* __restrict g = gradients + i * dim_;
    w[dim_] += mean_square(g, dim_);
    const float rate = lr_ / (std::sqrt(w[dim_]) + eps_);
    for (std::size_t k = 0; k < dim_; ++k) w[k] -= rate * g[k];
  }
}

}  // namespace satrap::bench
