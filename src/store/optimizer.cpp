#include "store/optimizer.hpp"

#include <cmath>

#include "core/error.hpp"
#include "store/kernels.hpp"

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
  if (kind == Optimizer::adagrad || kind == Optimizer::rowwise_adagrad) {
    refuse(config, config.weight_decay, "weight_decay", "only sgd and adam have weight decay");
  } else {
    refuse(config, config.initial_accumulator, "initial_accumulator",
           "only adagrad and rowwise_adagrad have an accumulator");
  }
}

std::int64_t floats_of(const config::TableConfig& config) noexcept {
  switch (config.optimizer) {
    case Optimizer::sgd:
      return config.momentum == 0.0 ? 0 : config.dim;
    case Optimizer::adagrad:
      return config.dim;
    case Optimizer::rowwise_adagrad:
      return 1;
    case Optimizer::adam:
      return 2 * config.dim;
  }
  return 0;
}

}  // namespace

RowOptimizer::RowOptimizer(const config::TableConfig& config)
    : log_beta1_(std::log(config.beta1)),
      log_beta2_(std::log(config.beta2)),
      state_floats_(floats_of(config)),
      corrects_bias_(config.optimizer == Optimizer::adam),
      keeps_updates_(corrects_bias_ && config.bias_correction == config::BiasCorrection::row),
      initial_state_(static_cast<float>(config.initial_accumulator)),
      update_(update_kernel(config.optimizer, config.momentum != 0.0)) {
  check(config);
  hyper_.lr = static_cast<float>(config.lr);
  hyper_.eps = static_cast<float>(config.eps);
  hyper_.momentum = static_cast<float>(config.momentum);
  hyper_.beta1 = static_cast<float>(config.beta1);
  hyper_.beta2 = static_cast<float>(config.beta2);
  hyper_.weight_decay = static_cast<float>(config.weight_decay);
}

Hyper RowOptimizer::hyper(Step step, float lr_factor) const noexcept {
  Hyper hyper = hyper_;
  hyper.lr *= lr_factor;
  if (corrects_bias_ && !keeps_updates_) correct_bias(hyper, step);
  return hyper;
}

void RowOptimizer::correct_bias(Hyper& hyper, std::int64_t t) const noexcept {
  // 1 - beta^t, without cancellation for small t and beta near 1.
  const double updates = static_cast<double>(t);
  hyper.m_scale = static_cast<float>(-1.0 / std::expm1(updates * log_beta1_));
  hyper.v_scale = static_cast<float>(-1.0 / std::expm1(updates * log_beta2_));
}

}  // namespace satrap::store
