#pragma once

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
  explicit ReferenceOptimizer(const config::TableConfig& config) : config_(config) {}

  std::size_t state_floats() const {
    const auto dim = static_cast<std::size_t>(config_.dim);
    switch (config_.optimizer) {
      case config::Optimizer::sgd:
        return config_.momentum == 0 ? 0 : dim;
      case config::Optimizer::adagrad:
        return dim;
      case config::Optimizer::rowwise_adagrad:
        return 1;
      default:
        return 2 * dim;
    }
  }

  void update(ReferenceRow& row, const float* g, Step step, float lr_factor) const {
    const float lr = static_cast<float>(config_.lr) * lr_factor;
    const auto eps = static_cast<float>(config_.eps);
    const auto decay = static_cast<float>(config_.weight_decay);
    const auto momentum = static_cast<float>(config_.momentum);
    const std::size_t dim = row.weights.size();
    const bool adam = config_.optimizer == config::Optimizer::adam;
    const bool by_row = config_.bias_correction == config::BiasCorrection::row;
    if (adam && by_row) ++row.updates;
    const auto t = static_cast<double>(by_row ? row.updates : step);
    float row_rate = 0;
    if (config_.optimizer == config::Optimizer::rowwise_adagrad) {
      row.state[0] += sum_of_squares(g, dim) / static_cast<float>(dim);
      row_rate = lr / (std::sqrt(row.state[0]) + eps);
    }
    for (std::size_t i = 0; i < dim; ++i) {
      float& w = row.weights[i];
      switch (config_.optimizer) {
        case config::Optimizer::sgd: {
          float v = std::fma(decay, w, g[i]);
          if (momentum != 0) v = row.state[i] = std::fma(momentum, row.state[i], v);
          w = std::fma(-lr, v, w);
          break;
        }
        case config::Optimizer::adagrad: {
          float& a = row.state[i];
          a = std::fma(g[i], g[i], a);
          w = std::fma(-(lr / (std::sqrt(a) + eps)), g[i], w);
          break;
        }
        case config::Optimizer::rowwise_adagrad:
          w = std::fma(-row_rate, g[i], w);
          break;
        default: {
          float& m = row.state[i];
          float& v = row.state[dim + i];
          const auto beta1 = static_cast<float>(config_.beta1);
          const auto beta2 = static_cast<float>(config_.beta2);
          const float m_part = (1.0f - beta1) * g[i];
          const float square = g[i] * g[i];
          const float v_part = (1.0f - beta2) * square;
          m = std::fma(beta1, m, m_part);
          v = std::fma(beta2, v, v_part);
          const auto m_hat = m * static_cast<float>(-1 / std::expm1(t * std::log(config_.beta1)));
          const auto v_hat = v * static_cast<float>(-1 / std::expm1(t * std::log(config_.beta2)));
          w = std::fma(-lr, std::fma(decay, w, m_hat / (std::sqrt(v_hat) + eps)), w);
        }
      }
    }
  }

 private:
  static float sum_of_squares(const float* g, std::size_t n) {
    std::array<float, 16> sums{};
    for (std::size_t i = 0; i < n; ++i) sums[i % 16] = std::fma(g[i], g[i], sums[i % 16]);
    for (std::size_t half = 8; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
  }

  config::TableConfig config_;
};

}  // namespace satrap::store
