#pragma once

#include <cstddef>
#include <cstdint>

#include "config/config.hpp"
#include "core/types.hpp"
#include "store/update_context.hpp"

namespace satrap::store {

/// Hyper-parameters of one update, ready for the kernels.
struct Hyper {
  float lr = 0;       ///< With the schedule's factor.
  float base_lr = 0;  ///< Without.
  float eps = 0;
  float momentum = 0;
  float beta1 = 0;
  float beta2 = 0;
  float weight_decay = 0;
  float m_scale = 1;  ///< Moments: 1 / (1 - beta1^t)
  float v_scale = 1;  ///< Moments: 1 / (1 - beta2^t)
  float beta = 0;     ///< FTRL, as the next two.
  float l1 = 0;
  float l2 = 0;
  std::uint64_t rounding_key = 0;  ///< Of the random words of stochastic rounding at this step.
};

/// One optimizer step of one row: `gradient` [dim], `weights` [dim], `state` [state_values]. The
/// result is a function of these values alone, and the same with every instruction set that has
/// fused multiply-add. A finite gradient counts as at most 2^54 per element, so that it leaves
/// neither infinity nor NaN in a row.
using UpdateRow = void (*)(const Hyper& hyper, std::size_t dim, const float* gradient,
                           float* weights, float* state);

/// The optimizer of a table: its hyper-parameters and what it keeps per row (docs/store.md has the
/// formulas).
///
///     optimizer          state per row
///     sgd                none; with momentum: velocity [dim]
///     adagrad            accumulator [dim]
///     rowwise_adagrad    accumulator [1]
///     adam, lamb         m [dim], v [dim]
///     rowwise_adam       m [dim], v [1]
///     ftrl               z [dim], n [dim]
///
/// The three with m and v also keep the number of updates if bias_correction = row.
class RowOptimizer {
 public:
  /// Throws ConfigError if a hyper-parameter is set that the optimizer does not have.
  explicit RowOptimizer(const config::TableConfig& config);

  std::int64_t state_values() const noexcept { return state_values_; }
  bool keeps_updates() const noexcept { return keeps_updates_; }
  /// The state of a new row to `state` [state_values].
  void initialize(float* state) const noexcept;

  /// The hyper-parameters of a batch; complete but for the bias correction where that depends on
  /// the row, and for the key.
  Hyper hyper(const UpdateContext& context) const noexcept;
  /// Sets the bias correction for the t-th update, t from 1.
  void correct_bias(Hyper& hyper, std::int64_t t) const noexcept;

 private:
  Hyper hyper_;
  double log_beta1_;
  double log_beta2_;
  std::int64_t state_values_;
  std::int64_t accumulator_;  ///< Where the part of the state that starts from initial_ begins.
  float initial_;
  bool corrects_bias_;
  bool keeps_updates_;
};

}  // namespace satrap::store
