#include <algorithm>
#include <cmath>
#include <numbers>

#include "nn/optimizer.hpp"

namespace satrap::nn {
namespace {

double warmup_factor(const config::ScheduleConfig& config, Step step) {
  if (step >= config.warmup_steps) return 1.0;
  return static_cast<double>(step) / static_cast<double>(config.warmup_steps);
}

double decay_factor(const config::ScheduleConfig& config, Step step) {
  const Step since = std::max<Step>(0, step - config.decay_start);
  const Step steps = std::max<Step>(1, config.decay_steps);
  const double progress = std::min(1.0, static_cast<double>(since) / static_cast<double>(steps));
  const auto between = [&](double share) {
    return config.end_factor + (1.0 - config.end_factor) * share;
  };
  switch (config.decay) {
    case config::Decay::none:
      return 1.0;
    case config::Decay::polynomial:
      return between(std::pow(1.0 - progress, config.decay_power));
    case config::Decay::cosine:
      return between(0.5 * (1.0 + std::cos(std::numbers::pi * progress)));
    case config::Decay::step:
      return std::pow(config.end_factor, static_cast<double>(since / steps));
  }
  return 1.0;
}

}  // namespace

float schedule_factor(const config::ScheduleConfig& config, Step step) {
  return static_cast<float>(warmup_factor(config, step) * decay_factor(config, step));
}

}  // namespace satrap::nn
