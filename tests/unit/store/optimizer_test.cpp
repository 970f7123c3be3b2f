#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "unit/store/one_row.hpp"
#include "unit/store/reference.hpp"

namespace satrap::store {
namespace {

using config::BiasCorrection;
using config::Optimizer;

config::TableConfig config_of(Optimizer optimizer, std::int64_t dim = 1) {
  config::TableConfig config;
  config.name = "items";
  config.dim = dim;
  config.optimizer = optimizer;
  config.lr = 0.5;
  config.eps = 0.1;
  config.init_range = 0;
  return config;
}

TEST(Optimizer, MatchesScalarCodeBitByBit) {
  for (const std::int64_t dim : {1, 3, 8, 12, 16, 17, 64, 65, 200}) {
    for (const auto& config : optimizer_configs(dim)) {
      SCOPED_TRACE(fmt::format("dim {} {}", dim, name_of(config.optimizer)));
      const ReferenceOptimizer optimizer(config);
      const auto width = static_cast<std::size_t>(dim);
      for (std::uint64_t id = 0; id < 10; ++id) {
        OneRow row(config, FeatureId{id});
        ReferenceRow expected{std::vector<float>(width), optimizer.initial_state(), 0};
        initial_row(5, TableId{1}, FeatureId{id}, 0.05f, expected.weights);
        ASSERT_EQ(row.weights(), expected.weights);
        ASSERT_EQ(row.state(), expected.state);
        for (Step step = 1; step <= 6; ++step) {
          const auto gradient = random_floats(id * 100 + static_cast<std::uint64_t>(step), width);
          const float factor = step > 3 ? 0.5f : 1.0f;
          row.update(gradient.data(), step, factor);
          optimizer.update(expected, gradient.data(), step, factor);
        }
        ASSERT_EQ(row.weights(), expected.weights);
        ASSERT_EQ(row.state(), expected.state);
        const bool counts = row.updates() != 0;
        ASSERT_EQ(row.updates(), counts ? expected.updates : 0);
      }
    }
  }
}

/// The weight of a row of dim 1 that starts at `weight`, after gradients 1, -0.5, 0.25.
double after_three(const config::TableConfig& config, float weight) {
  OneRow row(config);
  row.set_weights({&weight, 1});
  Step step = 0;
  for (const float gradient : {1.0f, -0.5f, 0.25f}) row.update(&gradient, ++step);
  return row.weights()[0];
}

// Worked out by hand in double precision from the formulas of docs/store.md.
TEST(Optimizer, SgdByHand) {
  auto config = config_of(Optimizer::sgd);
  EXPECT_NEAR(after_three(config, 1), 1 - 0.5 * 0.75, 1e-6);
  config.weight_decay = 0.5;  // w <- 0.75 w - 0.5 g
  EXPECT_NEAR(after_three(config, 1), ((0.75 - 0.5) * 0.75 + 0.25) * 0.75 - 0.125, 1e-6);
  config.weight_decay = 0;
  config.momentum = 0.5;  // v = 1, 0, 0.25
  EXPECT_NEAR(after_three(config, 1), 1 - 0.5 * 1.25, 1e-6);
}

TEST(Optimizer, AdagradByHand) {
  for (const auto optimizer : {Optimizer::adagrad, Optimizer::rowwise_adagrad}) {
    for (const double decay : {0.0, 0.2}) {
      auto config = config_of(optimizer);
      config.initial_accumulator = 3;  // a = 4, 4.25, 4.3125
      config.weight_decay = decay;
      double w = 1;
      w -= 0.5 * (1 / 2.1 + decay * w);
      w -= 0.5 * (-0.5 / (std::sqrt(4.25) + 0.1) + decay * w);
      w -= 0.5 * (0.25 / (std::sqrt(4.3125) + 0.1) + decay * w);
      EXPECT_NEAR(after_three(config, 1), w, 1e-6);
    }
  }
}

TEST(Optimizer, AdamByHand) {
  for (const auto optimizer : {Optimizer::adam, Optimizer::rowwise_adam, Optimizer::lamb}) {
    auto config = config_of(optimizer);
    config.beta1 = 0.5;
    config.beta2 = 0.75;
    config.weight_decay = 0.2;
    // m = 1/2, 0, 1/8 over 1/2, 3/4, 7/8; v = 1/4, 1/4, 13/64 over 1/4, 7/16, 37/64.
    const double r[] = {1 / 1.1, 0, (0.125 / 0.875) / (std::sqrt((13.0 / 64) / (37.0 / 64)) + 0.1)};
    double w = 1;
    for (const double x : r) {
      const double step = x + 0.2 * w;
      // In one dimension lamb's phi is |w| / |step|.
      w -= 0.5 * (optimizer == Optimizer::lamb ? std::copysign(w, step) : step);
    }
    EXPECT_NEAR(after_three(config, 1), w, 1e-6);
    // With one row that every step updates, t is the step either way.
    config.bias_correction = BiasCorrection::global;
    EXPECT_NEAR(after_three(config, 1), w, 1e-6);
  }
}

TEST(Optimizer, FtrlByHand) {
  auto config = config_of(Optimizer::ftrl);
  config.beta = 2;
  config.l1 = 0.25;
  config.l2 = 0.5;
  config.initial_accumulator = 1;
  double w = 1, z = 0, n = 1;
  for (const double g : {1.0, -0.5, 0.25}) {
    z += g - (std::sqrt(n + g * g) - std::sqrt(n)) / 0.5 * w;
    n += g * g;
    w = std::abs(z) <= 0.25 ? 0 : (std::copysign(0.25, z) - z) / ((2 + std::sqrt(n)) / 0.5 + 0.5);
  }
  EXPECT_NEAR(after_three(config, 1), w, 1e-6);
  config.l1 = 10;
  EXPECT_EQ(after_three(config, 1), 0);
}

TEST(Optimizer, FtrlStandsStillAtALearningRateOfZero) {
  auto config = config_of(Optimizer::ftrl, 12);
  OneRow row(config);
  row.train(1, 5);
  const auto before = row.weights();
  const auto gradient = random_floats(99, 12);
  row.update(gradient.data(), 6, 0.0f);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(row.weights()[i], before[i], 1e-6);
}

TEST(Optimizer, LambMovesARowOfZeros) {
  OneRow row(config_of(Optimizer::lamb, 3));
  row.train(1, 1);
  for (const float w : row.weights()) EXPECT_NE(w, 0);
}

TEST(Optimizer, UpdatesAreCountedPerRow) {
  auto config = config_of(Optimizer::adam);
  OneRow by_row(config);
  const float gradient = 1;
  by_row.update(&gradient, 10);
  by_row.update(&gradient, 20);
  EXPECT_EQ(by_row.updates(), 2U);
  config.bias_correction = BiasCorrection::global;
  OneRow global(config);
  global.update(&gradient, 10);
  EXPECT_NE(global.weights(), by_row.weights());
}

TEST(Optimizer, ZeroGradientsOfFreshRowsChangeNothing) {
  for (const auto& config : optimizer_configs(17)) {
    if (config.weight_decay != 0 || config.optimizer == Optimizer::ftrl) continue;
    OneRow row(config);
    const auto before = row.weights();
    const std::vector<float> zeros(17);
    for (Step step = 1; step <= 3; ++step) row.update(zeros.data(), step);
    EXPECT_EQ(row.weights(), before) << name_of(config.optimizer);
  }
}

TEST(Optimizer, FiniteGradientsLeaveRowsFinite) {
  const auto finite = [](const std::vector<float>& values) {
    return std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
  };
  for (const auto storage : {config::Storage::fp32, config::Storage::fp16, config::Storage::bf16,
                             config::Storage::int8}) {
    for (auto config : optimizer_configs(65)) {
      config.storage = storage;
      for (const double clip : {0.0, 1e-3}) {
        config.clip_norm = clip;
        SCOPED_TRACE(fmt::format("{} {}", name_of(storage), name_of(config.optimizer)));
        OneRow row(config);
        Step step = 0;
        for (const float g : {3e38f, -3.4e38f, 1e-45f, 0.0f, 1e20f, 1.0f}) {
          row.update(std::vector<float>(65, g).data(), ++step);
        }
        EXPECT_TRUE(finite(row.weights()));
        EXPECT_TRUE(finite(row.state()));
      }
    }
  }
}

TEST(Optimizer, GradientsCountAsAtMostTwoToThe54) {
  for (const auto& config : optimizer_configs(17)) {
    OneRow row(config);
    OneRow limit(config);
    row.update(std::vector<float>(17, 1e17f).data(), 1);
    limit.update(std::vector<float>(17, 0x1p54f).data(), 1);
    EXPECT_EQ(row.bytes(), limit.bytes()) << name_of(config.optimizer);
  }
}

TEST(Optimizer, ClippingScalesGradientsDownToTheNorm) {
  auto config = config_of(Optimizer::sgd, 65);
  config.lr = 1;
  config.clip_norm = 2;
  for (const float size : {0.01f, 1.0f, 1e15f, 3e38f}) {
    OneRow row(config);
    const std::vector<float> gradient(65, size);
    row.update(gradient.data(), 1);
    const double norm = std::sqrt(65.0) * size;
    const double expected = norm > 2 ? 2 / std::sqrt(65.0) : size;
    for (const float w : row.weights()) EXPECT_NEAR(w, -expected, 1e-6 * expected);
  }
}

TEST(Optimizer, ClippingOfAnyPowerOfTwo) {
  auto config = config_of(Optimizer::sgd, 4);
  config.lr = 1;
  config.clip_norm = 1;
  for (int exponent = -120; exponent <= 126; ++exponent) {
    OneRow row(config);
    const float size = std::ldexp(1.0f, exponent);
    row.update(std::vector<float>(4, size).data(), 1);
    for (const float w : row.weights()) EXPECT_EQ(w, -std::min(size, 0.5f)) << exponent;
  }
}

TEST(Optimizer, NaNIsNotHidden) {
  const std::vector<float> gradient(3, std::numeric_limits<float>::quiet_NaN());
  for (auto config : optimizer_configs(3)) {
    config.clip_norm = 1;
    config.weight_bound = 1;
    OneRow row(config);
    row.update(gradient.data(), 1);
    for (const float w : row.weights()) EXPECT_TRUE(std::isnan(w)) << name_of(config.optimizer);
  }
}

TEST(Optimizer, ClippedRowsGoAsRowsOfClippedGradients) {
  for (auto config : optimizer_configs(12)) {
    const auto gradient = random_floats(3, 12);
    double sum = 0;
    for (const float g : gradient) sum += g * g;
    std::vector<float> clipped(12);
    for (std::size_t i = 0; i < 12; ++i) {
      clipped[i] = static_cast<float>(gradient[i] * 0.5 / std::sqrt(sum));
    }
    OneRow expected(config);
    expected.update(clipped.data(), 1);
    config.clip_norm = 0.5;
    OneRow row(config);
    row.update(gradient.data(), 1);
    for (std::size_t i = 0; i < 12; ++i) {
      EXPECT_NEAR(row.weights()[i], expected.weights()[i], 1e-5) << name_of(config.optimizer);
    }
  }
}

TEST(Optimizer, WeightsStayWithinTheirBound) {
  for (auto config : optimizer_configs(65)) {
    OneRow free(config);
    free.train(1, 1);
    config.weight_bound = 0.02;
    OneRow row(config);
    row.train(1, 1);
    const auto expected = free.weights();
    for (std::size_t i = 0; i < 65; ++i) {
      EXPECT_EQ(row.weights()[i], std::clamp(expected[i], -0.02f, 0.02f));
    }
    EXPECT_EQ(row.state(), free.state());
  }
}

TEST(Optimizer, RefusesWhatWouldHaveNoEffect) {
  const auto refused = [](Optimizer optimizer, auto change) {
    auto config = config_of(optimizer);
    change(config);
    EXPECT_THROW(RowOps(TableId{0}, config, 1), ConfigError) << name_of(optimizer);
  };
  refused(Optimizer::adam, [](auto& c) { c.momentum = 0.9; });
  refused(Optimizer::adam, [](auto& c) { c.initial_accumulator = 1; });
  refused(Optimizer::ftrl, [](auto& c) { c.weight_decay = 0.1; });
  refused(Optimizer::ftrl, [](auto& c) { c.lr = 0; });
  refused(Optimizer::sgd, [](auto& c) { c.l1 = 0.1; });
  refused(Optimizer::lamb, [](auto& c) { c.l2 = 0.1; });
  refused(Optimizer::lamb, [](auto& c) { c.moments = config::Storage::bf16; });
  refused(Optimizer::adam, [](auto& c) { c.moments = config::Storage::fp16; });
  refused(Optimizer::adam, [](auto& c) { c.rounding = config::Rounding::nearest; });
}

}  // namespace
}  // namespace satrap::store
