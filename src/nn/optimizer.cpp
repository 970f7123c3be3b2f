#include "nn/optimizer.hpp"

#include <cmath>

#include "core/error.hpp"
#include "device/stream.hpp"
#include "nn/ops/optimizer.hpp"

namespace satrap::nn {
namespace {

OptimizerState array(const char* name, std::int64_t size, double value = 0.0) {
  return {name, std::vector<float>(static_cast<std::size_t>(size), static_cast<float>(value))};
}

/// What the optimizers share: a functor for one step, applied to every parameter.
template <class Derived>
class Elementwise : public DenseOptimizer {
 public:
  explicit Elementwise(const config::DenseOptimizerConfig& config) : config_(config) {}

  void update(std::span<float> parameters, std::span<const float> gradients, Step step,
              float lr_factor) override {
    SATRAP_EXPECT(parameters.size() == gradients.size());
    for (const OptimizerState& array : state_) {
      if (array.values.size() != parameters.size()) {
        throw InternalError(fmt::format("optimizer state \"{}\" has {} values for {} parameters",
                                        array.name, array.values.size(), parameters.size()));
      }
    }
    const auto lr = static_cast<float>(config_.lr * static_cast<double>(lr_factor));
    device::launch(stream_, static_cast<std::int64_t>(parameters.size()),
                   static_cast<Derived*>(this)->op(parameters.data(), gradients.data(), lr, step));
  }

 protected:
  float value(double config::DenseOptimizerConfig::*field) const {
    return static_cast<float>(config_.*field);
  }

  config::DenseOptimizerConfig config_;
  device::Stream stream_;
};

using Config = config::DenseOptimizerConfig;

class Sgd final : public Elementwise<Sgd> {
 public:
  Sgd(const Config& config, std::int64_t /*parameters*/) : Elementwise(config) {}
  ops::SgdUpdate op(float* w, const float* g, float lr, Step) const {
    return {w, g, lr, value(&Config::weight_decay)};
  }
};

class Momentum final : public Elementwise<Momentum> {
 public:
  Momentum(const Config& config, std::int64_t parameters) : Elementwise(config) {
    state_ = {array("momentum", parameters)};
  }
  ops::MomentumUpdate op(float* w, const float* g, float lr, Step) {
    return {
        w, g, state_[0].values.data(), lr, value(&Config::momentum), value(&Config::weight_decay)};
  }
};

class Adagrad final : public Elementwise<Adagrad> {
 public:
  Adagrad(const Config& config, std::int64_t parameters) : Elementwise(config) {
    state_ = {array("accumulator", parameters, config.initial_accumulator)};
  }
  ops::AdagradUpdate op(float* w, const float* g, float lr, Step) {
    return {w, g, state_[0].values.data(), lr, value(&Config::eps), value(&Config::weight_decay)};
  }
};

class Adam final : public Elementwise<Adam> {
 public:
  Adam(const Config& config, std::int64_t parameters) : Elementwise(config) {
    state_ = {array("moment1", parameters), array("moment2", parameters)};
  }
  ops::AdamUpdate op(float* w, const float* g, float lr, Step step) {
    const auto t = static_cast<double>(step);
    return {
        .w = w,
        .g = g,
        .m = state_[0].values.data(),
        .v = state_[1].values.data(),
        .lr = lr,
        .beta1 = value(&Config::beta1),
        .beta2 = value(&Config::beta2),
        .eps = value(&Config::eps),
        .weight_decay = value(&Config::weight_decay),
        .m_correction = static_cast<float>(1.0 / (1.0 - std::pow(config_.beta1, t))),
        .v_root_correction = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(config_.beta2, t)))};
  }
};

}  // namespace

std::unique_ptr<DenseOptimizer> make_optimizer(const config::DenseOptimizerConfig& config,
                                               std::int64_t parameters) {
  switch (config.kind) {
    case config::Optimizer::sgd:
      if (config.momentum == 0.0) return std::make_unique<Sgd>(config, parameters);
      return std::make_unique<Momentum>(config, parameters);
    case config::Optimizer::adagrad:
      return std::make_unique<Adagrad>(config, parameters);
    case config::Optimizer::adam:
      return std::make_unique<Adam>(config, parameters);
    default:
      throw ConfigError(
          fmt::format("dense_optimizer.kind = {} has no dense form", config::name_of(config.kind)),
          {}, "use sgd, adagrad or adam");
  }
}

}  // namespace satrap::nn
