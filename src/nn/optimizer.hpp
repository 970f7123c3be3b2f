#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/types.hpp"

namespace satrap::nn {

/// One of the optimizer's arrays, as long as the parameters: momentum, accumulator, moments.
struct OptimizerState {
  std::string name;
  std::vector<float> values;
};

/// A dense optimizer over a flat parameter buffer; formulas of PyTorch (docs/model.md).
/// Not thread-safe.
class DenseOptimizer {
 public:
  virtual ~DenseOptimizer() = default;

  /// One update of `parameters` [n] by `gradients` [n]. `step` counts from 1 and is Adam's t;
  /// `lr_factor` multiplies the configured lr.
  virtual void update(std::span<float> parameters, std::span<const float> gradients, Step step,
                      float lr_factor) = 0;

  /// For checkpoints: the arrays in a fixed order, to be read or overwritten in place.
  std::vector<OptimizerState>& state() noexcept { return state_; }

 protected:
  std::vector<OptimizerState> state_;
};

/// Throws ConfigError if the kind has no dense form.
std::unique_ptr<DenseOptimizer> make_optimizer(const config::DenseOptimizerConfig& config,
                                               std::int64_t parameters);

/// The factor on the learning rate at `step` (from 1).
float schedule_factor(const config::ScheduleConfig& config, Step step);

}  // namespace satrap::nn
