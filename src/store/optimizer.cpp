#include "store/optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace satrap::store {
namespace {

using config::Optimizer;

void refuse(const config::TableConfig& config, double value, const char* key, const char* why) {
  if (value == 0.0) return;
  throw ConfigError(
      fmt::format("table '{}': {} = {} would have no effect", config.name, key, value), why,
      fmt::format("remove {} or choose another optimizer", key));
}

void check(const config::TableConfig& config) {
  const Optimizer kind = config.optimizer;
  if (kind != Optimizer::sgd) {
    refuse(config, config.momentum, "momentum", "only sgd has momentum");
  }
  if (kind != Optimizer::adagrad && kind != Optimizer::rowwise_adagrad && kind != Optimizer::ftrl) {
    refuse(config, config.initial_accumulator, "initial_accumulator",
           "only adagrad, rowwise_adagrad and ftrl have an accumulator");
  }
  if (kind == Optimizer::ftrl) {
    refuse(config, config.weight_decay, "weight_decay", "ftrl has l1 and l2 instead");
    if (!(config.lr > 0)) {
      throw ConfigError(fmt::format("table '{}': lr = {} with ftrl", config.name, config.lr),
                        "ftrl divides by it", "use an lr above 0");
    }
  } else {
    refuse(config, config.l1, "l1", "only ftrl has it");
    refuse(config, config.l2, "l2", "only ftrl has it");
  }
}

std::int64_t state_values_of(const config::TableConfig& config) noexcept {
  switch (config.optimizer) {
    case Optimizer::sgd:
      return config.momentum == 0.0 ? 0 : config.dim;
    case Optimizer::adagrad:
      return config.dim;
    case Optimizer::rowwise_adagrad:
      return 1;
    case Optimizer::rowwise_adam:
      return config.dim + 1;
    case Optimizer::adam:
    case Optimizer::ftrl:
    case Optimizer::lamb:
      return 2 * config.dim;
  }
  return 0;
}

bool has_moments(Optimizer kind) noexcept {
  return kind == Optimizer::adam || kind == Optimizer::rowwise_adam || kind == Optimizer::lamb;
}

}  // namespace

RowOptimizer::RowOptimizer(const config::TableConfig& config)
    : log_beta1_(std::log(config.beta1)),
      log_beta2_(std::log(config.beta2)),
      state_values_(state_values_of(config)),
      accumulator_(config.optimizer == Optimizer::ftrl ? config.dim : 0),
      initial_(static_cast<float>(config.initial_accumulator)),
      corrects_bias_(has_moments(config.optimizer)),
      keeps_updates_(corrects_bias_ && config.bias_correction == config::BiasCorrection::row) {
  check(config);
  hyper_.base_lr = static_cast<float>(config.lr);
  hyper_.eps = static_cast<float>(config.eps);
  hyper_.momentum = static_cast<float>(config.momentum);
  hyper_.beta1 = static_cast<float>(config.beta1);
  hyper_.beta2 = static_cast<float>(config.beta2);
  hyper_.weight_decay = static_cast<float>(config.weight_decay);
  hyper_.beta = static_cast<float>(config.beta);
  hyper_.l1 = static_cast<float>(config.l1);
  hyper_.l2 = static_cast<float>(config.l2);
}

void RowOptimizer::initialize(float* state) const noexcept {
  std::fill_n(state, accumulator_, 0.0f);
  std::fill_n(state + accumulator_, state_values_ - accumulator_, initial_);
}

Hyper RowOptimizer::hyper(const UpdateContext& context) const noexcept {
  Hyper hyper = hyper_;
  hyper.lr = hyper.base_lr * context.lr_factor;
  if (corrects_bias_ && !keeps_updates_) correct_bias(hyper, std::max<Step>(context.step, 1));
  return hyper;
}

void RowOptimizer::correct_bias(Hyper& hyper, std::int64_t t) const noexcept {
  // 1 - beta^t, without cancellation for small t and beta near 1.
  const double updates = static_cast<double>(t);
  hyper.m_scale = static_cast<float>(-1.0 / std::expm1(updates * log_beta1_));
  hyper.v_scale = static_cast<float>(-1.0 / std::expm1(updates * log_beta2_));
}

}  // namespace satrap::store
