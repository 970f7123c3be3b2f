#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "config/config.hpp"
#include "core/types.hpp"

namespace satrap::store {

/// One row of the obvious kind, for comparison bit by bit.
struct ReferenceRow {
  std::vector<float> weights;
  std::vector<float> state;
  std::uint32_t updates = 0;
};

/// The formulas of the optimizers in scalar code, with the roundings that the table promises.
class ReferenceOptimizer {
 public:
  explicit ReferenceOptimizer(const config::TableConfig& config)
      : config_(config),
        dim_(static_cast<std::size_t>(config.dim)),
        eps_(static_cast<float>(config.eps)),
        decay_(static_cast<float>(config.weight_decay)),
        beta1_(static_cast<float>(config.beta1)),
        beta2_(static_cast<float>(config.beta2)) {}

  std::size_t state_floats() const {
    switch (config_.optimizer) {
      case config::Optimizer::sgd:
        return config_.momentum == 0 ? 0 : dim_;
      case config::Optimizer::adagrad:
        return dim_;
      case config::Optimizer::rowwise_adagrad:
        return 1;
      case config::Optimizer::rowwise_adam:
        return dim_ + 1;
      default:
        return 2 * dim_;
    }
  }

  /// The state of a new row.
  std::vector<float> initial_state() const {
    const auto start = static_cast<float>(config_.initial_accumulator);
    std::vector<float> state(state_floats(), start);
    if (config_.optimizer == config::Optimizer::ftrl) std::fill_n(state.begin(), dim_, 0.0f);
    return state;
  }

  void update(ReferenceRow& row, const float* g, Step step, float lr_factor) const {
    const float lr = static_cast<float>(config_.lr) * lr_factor;
    switch (config_.optimizer) {
      case config::Optimizer::sgd:
        return sgd(row, g, lr);
      case config::Optimizer::adagrad:
      case config::Optimizer::rowwise_adagrad:
        return adagrad(row, g, lr);
      case config::Optimizer::ftrl:
        return ftrl(row, g, lr);
      default:
        return adam(row, g, step, lr);
    }
  }

 private:
  void sgd(ReferenceRow& row, const float* g, float lr) const {
    const auto momentum = static_cast<float>(config_.momentum);
    for (std::size_t i = 0; i < dim_; ++i) {
      float& w = row.weights[i];
      float v = std::fma(decay_, w, g[i]);
      if (momentum != 0) v = row.state[i] = std::fma(momentum, row.state[i], v);
      w = std::fma(-lr, v, w);
    }
  }

  void adagrad(ReferenceRow& row, const float* g, float lr) const {
    const bool rowwise = config_.optimizer == config::Optimizer::rowwise_adagrad;
    if (rowwise) row.state[0] += mean_square(g);
    for (std::size_t i = 0; i < dim_; ++i) {
      float& w = row.weights[i];
      float& a = row.state[rowwise ? 0 : i];
      if (!rowwise) a = std::fma(g[i], g[i], a);
      const float decayed = std::fma(-(lr * decay_), w, w);
      w = std::fma(-(lr / (std::sqrt(a) + eps_)), g[i], decayed);
    }
  }

  void ftrl(ReferenceRow& row, const float* g, float lr) const {
    const auto base_lr = static_cast<float>(config_.lr);
    const auto l1 = static_cast<float>(config_.l1);
    const float per_lr = 1.0f / base_lr;
    for (std::size_t i = 0; i < dim_; ++i) {
      float& z = row.state[i];
      float& n = row.state[dim_ + i];
      const float root_before = std::sqrt(n);
      n = std::fma(g[i], g[i], n);
      const float root = std::sqrt(n);
      const float sigma = (root - root_before) * per_lr;
      z = std::fma(-sigma, row.weights[i], std::fma(lr / base_lr, g[i], z));
      const float stiffness =
          std::fma(static_cast<float>(config_.beta) + root, per_lr, static_cast<float>(config_.l2));
      row.weights[i] = std::abs(z) <= l1 ? 0.0f : (std::copysign(l1, z) - z) / stiffness;
    }
  }

  /// Adam, rowwise_adam and lamb.
  void adam(ReferenceRow& row, const float* g, Step step, float lr) const {
    const bool by_row = config_.bias_correction == config::BiasCorrection::row;
    if (by_row) ++row.updates;
    const auto t = static_cast<double>(by_row ? row.updates : step);
    const auto m_scale = static_cast<float>(-1 / std::expm1(t * std::log(config_.beta1)));
    const auto v_scale = static_cast<float>(-1 / std::expm1(t * std::log(config_.beta2)));
    const bool rowwise = config_.optimizer == config::Optimizer::rowwise_adam;
    if (rowwise) {
      float& v = row.state[dim_];
      v = std::fma(beta2_, v, (1.0f - beta2_) * mean_square(g));
    }
    std::vector<float> r(dim_);
    for (std::size_t i = 0; i < dim_; ++i) {
      float& m = row.state[i];
      float& v = row.state[rowwise ? dim_ : dim_ + i];
      const float square = g[i] * g[i];
      m = std::fma(beta1_, m, (1.0f - beta1_) * g[i]);
      if (!rowwise) v = std::fma(beta2_, v, (1.0f - beta2_) * square);
      r[i] = std::fma(decay_, row.weights[i], m * m_scale / (std::sqrt(v * v_scale) + eps_));
    }
    if (config_.optimizer == config::Optimizer::lamb) {
      const float weight_norm = std::sqrt(sum_of_squares(row.weights.data()));
      const float norm = std::sqrt(sum_of_squares(r.data()));
      if (weight_norm > 0 && norm > 0) lr *= weight_norm / norm;
    }
    for (std::size_t i = 0; i < dim_; ++i) row.weights[i] = std::fma(-lr, r[i], row.weights[i]);
  }

  float mean_square(const float* g) const { return sum_of_squares(g) / static_cast<float>(dim_); }

  float sum_of_squares(const float* x) const {
    std::array<float, 16> sums{};
    for (std::size_t i = 0; i < dim_; ++i) sums[i % 16] = std::fma(x[i], x[i], sums[i % 16]);
    for (std::size_t half = 8; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
  }

  config::TableConfig config_;
  std::size_t dim_;
  float eps_;
  float decay_;
  float beta1_;
  float beta2_;
};

}  // namespace satrap::store
