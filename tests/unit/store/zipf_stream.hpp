#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "core/types.hpp"

namespace satrap::store {

/// Draws from 0 ... n - 1 with probability proportional to 1 / (rank + 1)^exponent.
class Zipf {
 public:
  Zipf(std::size_t n, double exponent, std::uint64_t seed)
      : cumulative_(n), random_(seed, RandomStream::teacher) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      cumulative_[i] = sum += std::pow(static_cast<double>(i + 1), -exponent);
    }
  }
  Zipf reseeded(std::uint64_t seed) const {
    Zipf zipf = *this;
    zipf.random_ = RandomSequence(seed, RandomStream::teacher);
    return zipf;
  }
  FeatureId operator()() {
    const double x = random_.uniform() * cumulative_.back();
    const auto rank = std::upper_bound(cumulative_.begin(), cumulative_.end(), x);
    return FeatureId(static_cast<std::uint64_t>(rank - cumulative_.begin()));
  }
  /// Distinct ids of `draws` draws, in order of their first.
  std::vector<FeatureId> batch(std::size_t draws) {
    std::vector<FeatureId> ids;
    for (std::size_t i = 0; i < draws; ++i) {
      const FeatureId id = (*this)();
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
    return ids;
  }

 private:
  std::vector<double> cumulative_;
  RandomSequence random_;
};

}  // namespace satrap::store
