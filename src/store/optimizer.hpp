#pragma once

#include <cstddef>
#include <cstdint>

#include "config/config.hpp"
#include "core/types.hpp"

namespace satrap::store {

/// Hyper-parameters of one update, ready for the kernels.
struct Hyper {
  float lr = 0;
  float eps = 0;
  float momentum = 0;
  float beta1 = 0;
  float beta2 = 0;
  float weight_decay = 0;
  float m_scale = 1;  ///< Adam: 1 / (1 - beta1^t)
  float v_scale = 1;  ///< Adam: 1 / (1 - beta2^t)
};

/// One optimizer step of one row: `gradient` [dim], `weights` [dim], `state` [state_floats]. The
/// result is a function of these values alone, and the same with every instruction set that has
/// fused multiply-add.
using UpdateRow = void (*)(const Hyper& hyper, std::size_t dim, const float* gradient,
                           float* weights, float* state);

/// The optimizer of a table: what it keeps per row, and its update (docs/store.md has the
/// formulas).
///
///     optimizer          state per row [floats]
///     sgd                none; with momentum: velocity [dim]
///     adagrad            accumulator [dim]
///     rowwise_adagrad    accumulator [1]
///     adam               m [dim], v [dim]; and the number of updates if bias_correction = row
class RowOptimizer {
 public:
  /// Throws ConfigError if a hyper-parameter is set that the optimizer does not have.
  explicit RowOptimizer(const config::TableConfig& config);

  std::int64_t state_floats() const noexcept { return state_floats_; }
  bool keeps_updates() const noexcept { return keeps_updates_; }
  float initial_state() const noexcept { return initial_state_; }

  /// The hyper-parameters at `step` with the schedule's factor; complete but for the bias
  /// correction where that depends on the row.
  Hyper hyper(Step step, float lr_factor) const noexcept;
  /// Sets the bias correction for the t-th update, t from 1.
  void correct_bias(Hyper& hyper, std::int64_t t) const noexcept;

  void update(const Hyper& hyper, std::size_t dim, const float* gradient, float* weights,
              float* state) const {
    update_(hyper, dim, gradient, weights, state);
  }

 private:
  Hyper hyper_;
  double log_beta1_;
  double log_beta2_;
  std::int64_t state_floats_ = 0;
  bool corrects_bias_ = false;
  bool keeps_updates_ = false;
  float initial_state_ = 0;
  UpdateRow update_;
};

}  // namespace satrap::store
