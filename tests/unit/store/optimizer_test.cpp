#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>

#include "unit/store/reference.hpp"
#include "unit/store/support.hpp"

namespace satrap::store {
namespace {

using config::BiasCorrection;
using config::Optimizer;

std::vector<config::TableConfig> optimizers(std::int64_t dim) {
  std::vector<config::TableConfig> configs;
  const auto add = [&](Optimizer optimizer, auto change) {
    auto config = table_config(dim, optimizer);
    config.lr = 0.3;
    config.eps = 1e-4;
    change(config);
    configs.push_back(config);
  };
  add(Optimizer::sgd, [](auto&) {});
  add(Optimizer::sgd, [](auto& c) { c.weight_decay = 0.05; });
  add(Optimizer::sgd, [](auto& c) { c.momentum = 0.9; });
  add(Optimizer::adagrad, [](auto& c) { c.initial_accumulator = 0.5; });
  add(Optimizer::rowwise_adagrad, [](auto& c) { c.initial_accumulator = 0.5; });
  add(Optimizer::adam, [](auto&) {});
  add(Optimizer::adam, [](auto& c) { c.weight_decay = 0.01; });
  add(Optimizer::adam, [](auto& c) { c.bias_correction = BiasCorrection::global; });
  return configs;
}

/// Rows of ids [0, n) after `steps` updates through a table; batch b of a step holds the ids that
/// are b modulo `batches`, in reverse order.
RowBlock train(const config::TableConfig& config, std::size_t n, int steps, std::size_t batches) {
  Table table(TableId{1}, config, 5);
  lookup(table, id_range(0, n));
  const auto dim = static_cast<std::size_t>(config.dim);
  for (int step = 1; step <= steps; ++step) {
    RandomSequence random(9, RandomStream::teacher, static_cast<std::uint64_t>(step));
    const auto all = random_floats(random, n * dim);
    for (std::size_t b = 0; b < batches; ++b) {
      std::vector<FeatureId> ids;
      std::vector<float> gradients;
      for (std::size_t i = n; i-- > 0;) {
        if (i % batches != b) continue;
        ids.push_back(FeatureId{i});
        gradients.insert(gradients.end(), &all[i * dim], &all[i * dim] + dim);
      }
      table.apply(ids, gradients.data(), {.step = step, .lr_factor = step > 3 ? 0.5f : 1.0f});
    }
  }
  return export_all(table, 1);
}

TEST(Optimizer, MatchesScalarCodeBitByBit) {
  for (const std::int64_t dim : {1, 3, 8, 12, 16, 17, 64, 65, 200}) {
    for (const auto& config : optimizers(dim)) {
      const std::size_t n = 40;
      const RowBlock rows = train(config, n, 6, 1);
      const ReferenceOptimizer optimizer(config);
      for (std::size_t i = 0; i < n; ++i) {
        const auto width = static_cast<std::size_t>(dim);
        ReferenceRow row{std::vector<float>(width),
                         std::vector<float>(optimizer.state_floats(),
                                            static_cast<float>(config.initial_accumulator)),
                         0};
        initial_row(5, TableId{1}, FeatureId{i}, 0.01f, row.weights);
        for (int step = 1; step <= 6; ++step) {
          RandomSequence random(9, RandomStream::teacher, static_cast<std::uint64_t>(step));
          const auto all = random_floats(random, n * width);
          optimizer.update(row, &all[i * width], step, step > 3 ? 0.5f : 1.0f);
        }
        ASSERT_EQ(rows.ids[i], FeatureId{i});
        const auto floats = row.state.size();
        ASSERT_TRUE(std::equal(row.weights.begin(), row.weights.end(), &rows.weights[i * width]))
            << "dim " << dim << " optimizer " << static_cast<int>(config.optimizer);
        ASSERT_TRUE(std::equal(row.state.begin(), row.state.end(), rows.state.data() + i * floats));
        ASSERT_EQ(rows.updates[i], row.updates);
      }
    }
  }
}

TEST(Optimizer, ARowDependsNeitherOnItsBatchNorOnItsPlaceThere) {
  for (const std::int64_t dim : {1, 3, 12, 65}) {
    for (const auto& config : optimizers(dim)) {
      const RowBlock one = train(config, 100, 5, 1);
      const RowBlock many = train(config, 100, 5, 7);
      EXPECT_EQ(one.weights, many.weights);
      EXPECT_EQ(one.state, many.state);
    }
  }
}

// All targets with fused multiply-add agree bit by bit; the others to a few roundings.
TEST(Optimizer, InstructionSetsAgree) {
  const auto run_with = [](std::int64_t target, const config::TableConfig& config) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const RowBlock rows = train(config, 50, 6, 1);
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return rows;
  };
  int compared = 0;
  for (const std::int64_t target : {HWY_SSE4, HWY_AVX2, HWY_AVX3}) {
    if ((hwy::SupportedTargets() & HWY_TARGETS & target) == 0) continue;
    ++compared;
    std::cout << "target " << hwy::TargetName(target) << "\n";
    for (const std::int64_t dim : {3, 12, 65, 200}) {
      for (const auto& config : optimizers(dim)) {
        const RowBlock expected = train(config, 50, 6, 1);
        const RowBlock rows = run_with(target, config);
        for (std::size_t i = 0; i < rows.weights.size(); ++i) {
          const float tolerance = target == HWY_SSE4 ? 1e-5f : 0.0f;
          ASSERT_NEAR(rows.weights[i], expected.weights[i], tolerance)
              << hwy::TargetName(target) << " dim " << dim;
        }
      }
    }
  }
  EXPECT_GT(compared, 0);
}

/// The weight of a row of dim 1 that starts at `weight`, after gradients 1, -0.5, 0.25.
double after_three(config::TableConfig config, float weight) {
  config.init_range = 0;
  Table table(TableId{0}, config, 1);
  const auto id = feature_ids({77});
  lookup(table, id);
  RowBlock block = export_all(table);
  block.weights = {weight};
  table.import_rows(block);
  Step step = 0;
  for (const float gradient : {1.0f, -0.5f, 0.25f}) {
    table.apply(id, &gradient, {.step = ++step});
  }
  return lookup(table, id)[0];
}

// Worked out by hand in double precision from the formulas of docs/store.md.
TEST(Optimizer, ThreeStepsByHand) {
  auto config = table_config(1, Optimizer::sgd);
  config.lr = 0.5;
  EXPECT_NEAR(after_three(config, 1), 1 - 0.5 * 0.75, 1e-6);

  config.weight_decay = 0.5;  // w <- 0.75 w - 0.5 g
  EXPECT_NEAR(after_three(config, 1), ((0.75 - 0.5) * 0.75 + 0.25) * 0.75 - 0.125, 1e-6);

  config.weight_decay = 0;
  config.momentum = 0.5;  // v = 1, 0, 0.25
  EXPECT_NEAR(after_three(config, 1), 1 - 0.5 * 1.25, 1e-6);

  for (const auto optimizer : {Optimizer::adagrad, Optimizer::rowwise_adagrad}) {
    config = table_config(1, optimizer);
    config.lr = 0.5;
    config.eps = 0.1;
    config.initial_accumulator = 3;  // a = 4, 4.25, 4.3125
    const double expected =
        1 - 0.5 * (1 / 2.1 - 0.5 / (std::sqrt(4.25) + 0.1) + 0.25 / (std::sqrt(4.3125) + 0.1));
    EXPECT_NEAR(after_three(config, 1), expected, 1e-6);
  }

  config = table_config(1, Optimizer::adam);
  config.lr = 0.5;
  config.eps = 0.1;
  config.beta1 = 0.5;
  config.beta2 = 0.75;
  config.weight_decay = 0.2;
  // m = 1/2, 0, 1/8 over 1/2, 3/4, 7/8; v = 1/4, 1/4, 13/64 over 1/4, 7/16, 37/64.
  double w = 1;
  w -= 0.5 * (1 / (1 + 0.1) + 0.2 * w);
  w -= 0.5 * (0 + 0.2 * w);
  w -= 0.5 * ((0.125 / 0.875) / (std::sqrt((13.0 / 64) / (37.0 / 64)) + 0.1) + 0.2 * w);
  EXPECT_NEAR(after_three(config, 1), w, 1e-6);
  // With one row that every step updates, t is the step either way.
  config.bias_correction = BiasCorrection::global;
  EXPECT_NEAR(after_three(config, 1), w, 1e-6);
}

TEST(Optimizer, RowsOfAdamCountTheirOwnUpdates) {
  Table table(TableId{0}, table_config(1, Optimizer::adam), 1);
  lookup(table, feature_ids({1, 2}));
  const float gradients[] = {1, 1};
  table.apply(feature_ids({1}), gradients, {.step = 10});
  table.apply(feature_ids({1, 2}), gradients, {.step = 11});
  const RowBlock rows = export_all(table, 1);
  EXPECT_EQ(rows.updates, (std::vector<std::uint32_t>{2, 1}));
}

}  // namespace
}  // namespace satrap::store
