#pragma once

#include <span>
#include <vector>

#include "config/config.hpp"

namespace satrap::data {

/// What standardisation subtracts and multiplies by, per dense feature. Empty for the other
/// transforms. Part of a trained model: a model that is evaluated later needs the same values.
struct DenseScaling {
  std::vector<float> mean;
  std::vector<float> inverse_std;

  friend bool operator==(const DenseScaling&, const DenseScaling&) = default;
};

/// Samples that fit_dense_scaling looks at.
inline constexpr std::int64_t kScalingSamples = std::int64_t{1} << 18;

/// Mean and standard deviation over the good rows among the first kScalingSamples of data.train in
/// file order, missing values left out: the same on every rank, in evaluation and after a restart.
/// A feature that does not vary gets inverse_std 1. Empty unless data.dense_transform is
/// standardize. Throws DataError.
DenseScaling fit_dense_scaling(const config::Config& config);

/// Turns values as they stand in the data into the model's inputs; reference: docs/data.md.
class DenseTransformer {
 public:
  DenseTransformer(config::DenseTransform kind, DenseScaling scaling);

  /// values [dense_features], in place; NaN means missing and becomes 0.
  void apply(std::span<float> values) const;

  const DenseScaling& scaling() const noexcept { return scaling_; }

 private:
  config::DenseTransform kind_;
  DenseScaling scaling_;
};

}  // namespace satrap::data
