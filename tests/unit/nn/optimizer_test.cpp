#include "nn/optimizer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "core/error.hpp"

namespace satrap::nn {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

config::DenseOptimizerConfig optimizer(config::Optimizer kind) {
  config::DenseOptimizerConfig config;
  config.kind = kind;
  config.lr = 0.1;
  config.beta2 = 0.99;
  config.eps = 1e-3;
  config.weight_decay = 0.01;
  return config;
}

/// Three steps on two parameters, with numbers worked out with NumPy in float64 from the formulas
/// of docs/model.md.
class OptimizerTest : public ::testing::Test {
 protected:
  std::vector<float> train(DenseOptimizer& optimizer) {
    std::vector<float> parameters = {1.0f, -2.0f};
    constexpr std::array<std::array<float, 2>, 3> kGradients = {
        {{0.5f, -1.0f}, {0.25f, 2.0f}, {-1.0f, 0.5f}}};
    Step step = 0;
    for (const auto& gradients : kGradients) optimizer.update(parameters, gradients, ++step, 1.0f);
    return parameters;
  }

  void expect(DenseOptimizer& optimizer, std::vector<float> parameters,
              std::vector<std::vector<float>> state) {
    EXPECT_THAT(train(optimizer), Pointwise(FloatNear(1e-6f), parameters));
    ASSERT_EQ(optimizer.state().size(), state.size());
    for (std::size_t i = 0; i < state.size(); ++i) {
      EXPECT_THAT(optimizer.state()[i].values, Pointwise(FloatNear(1e-6f), state[i]));
    }
  }
};

TEST_F(OptimizerTest, Sgd) {
  const auto sgd = make_optimizer(optimizer(config::Optimizer::sgd), 2);
  expect(*sgd, {1.022127949f, -2.144005898f}, {});
}

TEST_F(OptimizerTest, SgdWithMomentum) {
  config::DenseOptimizerConfig config = optimizer(config::Optimizer::sgd);
  config.momentum = 0.9;
  const auto sgd = make_optimizer(config, 2);
  expect(*sgd, {0.911609749f, -2.147969498f}, {{-0.34458749f, 1.43667498f}});
}

TEST_F(OptimizerTest, Adagrad) {
  config::DenseOptimizerConfig config = optimizer(config::Optimizer::adagrad);
  config.initial_accumulator = 0.5;
  const auto adagrad = make_optimizer(config, 2);
  expect(*adagrad, {0.986693748f, -2.022691848f}, {{1.80921824f, 5.694427682f}});
}

TEST_F(OptimizerTest, AdamWithDecoupledWeightDecay) {
  const auto adam = make_optimizer(optimizer(config::Optimizer::adam), 2);
  expect(*adam, {0.824937769f, -1.972367782f}, {{-0.037f, 0.149f}, {0.013069f, 0.051901f}});
}

TEST_F(OptimizerTest, GoesOnFromSavedState) {
  config::DenseOptimizerConfig config = optimizer(config::Optimizer::adam);
  const auto first = make_optimizer(config, 2);
  std::vector<float> parameters = {1.0f, -2.0f};
  const std::vector<float> gradients = {0.5f, -1.0f};
  first->update(parameters, gradients, 1, 1.0f);

  const auto second = make_optimizer(config, 2);
  for (std::size_t i = 0; i < 2; ++i) second->state()[i].values = first->state()[i].values;
  std::vector<float> copy = parameters;
  first->update(parameters, gradients, 2, 1.0f);
  second->update(copy, gradients, 2, 1.0f);

  EXPECT_EQ(parameters, copy);
}

TEST_F(OptimizerTest, ScalesTheLearningRateByTheFactor) {
  for (const auto kind :
       {config::Optimizer::sgd, config::Optimizer::adagrad, config::Optimizer::adam}) {
    std::vector<float> full = {1.0f};
    std::vector<float> half = {1.0f};
    std::vector<float> still = {1.0f};
    const std::vector<float> gradients = {0.5f};
    make_optimizer(optimizer(kind), 1)->update(full, gradients, 1, 1.0f);
    make_optimizer(optimizer(kind), 1)->update(half, gradients, 1, 0.5f);
    make_optimizer(optimizer(kind), 1)->update(still, gradients, 1, 0.0f);

    EXPECT_NEAR(1.0f - half[0], (1.0f - full[0]) / 2, 1e-6);
    EXPECT_EQ(still[0], 1.0f);
  }
}

TEST_F(OptimizerTest, UpdatesEveryParameter) {
  for (const std::size_t n : {0, 1, 7, 8, 1003}) {
    std::vector<float> parameters(n, 1.0f);
    const std::vector<float> gradients(n, 2.0f);
    make_optimizer(optimizer(config::Optimizer::adam), static_cast<std::int64_t>(n))
        ->update(parameters, gradients, 1, 1.0f);
    EXPECT_THAT(parameters, ::testing::Each(FloatNear(0.899f, 1e-4f)));
  }
}

TEST_F(OptimizerTest, RefusesStateOfAnotherSize) {
  const auto adam = make_optimizer(optimizer(config::Optimizer::adam), 2);
  adam->state()[1].values.resize(3);
  std::vector<float> parameters(2);
  const std::vector<float> gradients(2);

  EXPECT_THROW(adam->update(parameters, gradients, 1, 1.0f), InternalError);
}

TEST_F(OptimizerTest, HasNoRowwiseForm) {
  EXPECT_THROW(make_optimizer(optimizer(config::Optimizer::rowwise_adagrad), 2), ConfigError);
}

config::ScheduleConfig schedule(config::Decay decay) {
  config::ScheduleConfig config;
  config.decay = decay;
  config.decay_start = 100;
  config.decay_steps = 50;
  config.end_factor = 0.1;
  return config;
}

TEST(Schedule, IsConstantByDefault) {
  for (const Step step : {1, 2, 1000000}) EXPECT_EQ(schedule_factor({}, step), 1.0f);
}

TEST(Schedule, WarmsUpLinearly) {
  config::ScheduleConfig config;
  config.warmup_steps = 4;

  EXPECT_EQ(schedule_factor(config, 1), 0.25f);
  EXPECT_EQ(schedule_factor(config, 3), 0.75f);
  EXPECT_EQ(schedule_factor(config, 4), 1.0f);
  EXPECT_EQ(schedule_factor(config, 5), 1.0f);
}

TEST(Schedule, DecaysByAPolynomial) {
  config::ScheduleConfig config = schedule(config::Decay::polynomial);

  EXPECT_EQ(schedule_factor(config, 100), 1.0f);
  EXPECT_FLOAT_EQ(schedule_factor(config, 110), 0.1f + 0.9f * 0.64f);
  EXPECT_FLOAT_EQ(schedule_factor(config, 150), 0.1f);
  EXPECT_FLOAT_EQ(schedule_factor(config, 1000), 0.1f);

  config.end_factor = 0.0;
  config.decay_power = 1.0;
  EXPECT_FLOAT_EQ(schedule_factor(config, 149), 0.02f);
}

TEST(Schedule, DecaysByACosine) {
  const config::ScheduleConfig config = schedule(config::Decay::cosine);

  EXPECT_EQ(schedule_factor(config, 99), 1.0f);
  EXPECT_FLOAT_EQ(schedule_factor(config, 125), 0.55f);
  EXPECT_FLOAT_EQ(schedule_factor(config, 150), 0.1f);
  EXPECT_FLOAT_EQ(schedule_factor(config, 151), 0.1f);
}

TEST(Schedule, DecaysInSteps) {
  config::ScheduleConfig config = schedule(config::Decay::step);
  config.end_factor = 0.5;

  EXPECT_EQ(schedule_factor(config, 149), 1.0f);
  EXPECT_EQ(schedule_factor(config, 150), 0.5f);
  EXPECT_EQ(schedule_factor(config, 200), 0.25f);
  EXPECT_EQ(schedule_factor(config, 249), 0.25f);
}

TEST(Schedule, MultipliesWarmUpAndDecay) {
  config::ScheduleConfig config = schedule(config::Decay::polynomial);
  config.warmup_steps = 200;

  EXPECT_FLOAT_EQ(schedule_factor(config, 110), 0.55f * (0.1f + 0.9f * 0.64f));
}

}  // namespace
}  // namespace satrap::nn
