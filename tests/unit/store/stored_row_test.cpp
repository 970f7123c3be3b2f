#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/error.hpp"
#include "unit/store/one_row.hpp"
#include "unit/store/storage_types.hpp"

namespace satrap::store {
namespace {

using config::Optimizer;
using config::Rounding;
using config::Storage;

config::TableConfig row_config(Storage storage, Optimizer optimizer = Optimizer::sgd) {
  config::TableConfig config;
  config.name = "items";
  config.dim = 200;
  config.optimizer = optimizer;
  config.lr = 1;
  config.init_range = 0.05;
  config.storage = storage;
  return config;
}

TEST(StoredRow, StartsFromTheFirstValuesRounded) {
  for (const auto type : kTypes) {
    std::vector<float> exact(200);
    initial_row(5, TableId{1}, FeatureId{77}, 0.05f, exact);
    const auto weights = OneRow(row_config(type)).weights();
    for (std::size_t i = 0; i < 200; ++i) {
      const double step = type == Storage::int8 ? 0.05 / 127 : step_at(type, exact[i]);
      EXPECT_NEAR(weights[i], exact[i], step);
    }
    EXPECT_NE(weights, exact);
  }
}

TEST(StoredRow, NothingOfWhatWasThereBeforeIsLeft) {
  for (const auto type : {Storage::fp32, Storage::fp16, Storage::bf16, Storage::int8}) {
    for (auto config : optimizer_configs(3)) {
      config.storage = type;
      if (config.optimizer == Optimizer::adam) config.moments = Storage::bf16;
      const RowOps ops(TableId{1}, config, 5);
      std::vector<std::byte> zeros(ops.layout().bytes, std::byte{0});
      std::vector<std::byte> ones(ops.layout().bytes, std::byte{0xFF});
      ops.initialize(FeatureId{1}, zeros.data());
      ops.initialize(FeatureId{1}, ones.data());
      EXPECT_TRUE(std::equal(zeros.begin() + 8, zeros.end(), ones.begin() + 8))
          << name_of(type) << ' ' << name_of(config.optimizer);
    }
  }
}

TEST(StoredRow, RoundingFollowsFromSeedTableIdAndStep) {
  const std::vector<float> gradient(200, 1e-5f);
  for (const auto type : kTypes) {
    auto config = row_config(type);
    config.init_range = 0;  // So that only rounding can make a difference.
    if (type == Storage::int8) config.lr = 1;
    const auto after = [&](std::uint64_t seed, std::uint32_t table, std::uint64_t id, Step step) {
      OneRow row(config, FeatureId{id}, seed, TableId{table});
      row.update(random_floats(1, 200).data(), step);
      row.update(gradient.data(), step);
      return row.bytes();
    };
    const auto first = after(1, 1, 1, 1);
    EXPECT_EQ(after(1, 1, 1, 1), first);
    EXPECT_NE(after(2, 1, 1, 1), first);
    EXPECT_NE(after(1, 2, 1, 1), first);
    EXPECT_NE(after(1, 1, 2, 1), first);
    EXPECT_NE(after(1, 1, std::uint64_t{1} << 32 | 1, 1), first);
    EXPECT_NE(after(1, 1, 1, 2), first);
    EXPECT_NE(after(1, 1, 1, (Step{1} << 32) + 1), first);
  }
}

/// How far rows go that 2000 gradients push by 1/64 of a step of their type each; mean over `dim`.
double distance(Storage type, Rounding rounding) {
  auto config = row_config(type);
  config.rounding = rounding;
  config.init_range = 1;
  OneRow row(config);
  const auto before = row.weights();
  const double step = type == Storage::int8 ? 1.0 / 127 : step_at(type, 0.75);
  const std::vector<float> gradient(200, static_cast<float>(-step / 64));
  for (Step s = 1; s <= 2000; ++s) row.update(gradient.data(), s);
  double sum = 0;
  for (std::size_t i = 0; i < 200; ++i) sum += row.weights()[i] - before[i];
  return sum / 200 / (2000 * step / 64);
}

// Small updates add up, which is what the rounding is for; to the nearest most of them are lost.
TEST(StoredRow, SmallUpdatesAddUp) {
  for (const auto type : kTypes) {
    EXPECT_NEAR(distance(type, Rounding::stochastic), 1, 0.05) << name_of(type);
    EXPECT_LT(distance(type, Rounding::nearest), 0.8) << name_of(type);
  }
}

TEST(StoredRow, GoesWithItsFp32TwinForEveryOptimizer) {
  for (const auto type : kTypes) {
    for (auto config : optimizer_configs(65)) {
      config.lr = 0.01;
      OneRow twin(config);
      config.storage = type;
      OneRow row(config);
      twin.train(1, 20);
      row.train(1, 20);
      const double tolerance = type == Storage::fp16 ? 1e-3 : 2e-2;
      for (std::size_t i = 0; i < 65; ++i) {
        ASSERT_NEAR(row.weights()[i], twin.weights()[i], tolerance)
            << name_of(type) << ' ' << name_of(config.optimizer);
      }
    }
  }
}

TEST(StoredRow, MomentsInBf16KeepTheirMean) {
  auto config = row_config(Storage::fp32, Optimizer::adam);
  config.lr = 0.01;
  OneRow exact(config);
  config.moments = Storage::bf16;
  OneRow row(config);
  // At a decay of 0.999 updates of v are below half a step of bf16: to the nearest it would stand
  // still.
  exact.train(1, 3000);
  row.train(1, 3000);
  const auto bytes = row.bytes();
  const auto state = exact.state();
  const std::size_t begin = bytes.size() - 2 * 400;
  double ratio = 0;
  for (std::size_t i = 200; i < 400; ++i) {
    std::uint16_t upper = 0;
    std::memcpy(&upper, &bytes[begin + 2 * i], 2);
    ratio += std::bit_cast<float>(std::uint32_t{upper} << 16) / state[i] / 200;
  }
  EXPECT_NEAR(ratio, 1, 0.01);
}

}  // namespace
}  // namespace satrap::store
