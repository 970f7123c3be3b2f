#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>

#include "core/error.hpp"
#include "unit/store/one_row.hpp"

namespace satrap::store {
namespace {

using config::Optimizer;
using config::Rounding;
using config::Storage;

std::vector<config::TableConfig> all_configs(std::int64_t dim) {
  std::vector<config::TableConfig> configs = optimizer_configs(dim);
  const std::size_t optimizers = configs.size();
  for (const auto storage : {Storage::fp16, Storage::bf16, Storage::int8}) {
    for (std::size_t i = 0; i < optimizers; ++i) {
      auto config = configs[i];
      config.storage = storage;
      config.rounding = i % 3 == 0 ? Rounding::nearest : Rounding::stochastic;
      config.clip_norm = i % 2 == 0 ? 2 : 0;
      config.weight_bound = i % 4 == 0 ? 0.3 : 0;
      if (config.optimizer == Optimizer::adam) config.moments = Storage::bf16;
      configs.push_back(config);
    }
  }
  return configs;
}

TEST(InstructionSets, AreAllThere) {
  // On a machine with AVX-512 all three are compared below.
  std::cout << "compared:";
  for (const auto target : targets()) std::cout << ' ' << hwy::TargetName(target);
  std::cout << '\n';
  ASSERT_GE(targets().size(), 2U);
  for (const auto target : targets()) {
    const OnlyTarget only(target);
    EXPECT_EQ(hwy::SupportedTargets(), target);
  }
}

TEST(InstructionSets, HaveKernelsOfTheirOwn) {
  std::vector<UpdateRow> updates;
  std::vector<decltype(StorageKernels::encode)> encoders;
  for (const auto target : targets()) {
    const OnlyTarget only(target);
    const auto update = update_kernel(Optimizer::adam, false);
    const auto encode = storage_kernels(Storage::int8, Rounding::stochastic).encode;
    EXPECT_EQ(std::count(updates.begin(), updates.end(), update), 0);
    EXPECT_EQ(std::count(encoders.begin(), encoders.end(), encode), 0);
    updates.push_back(update);
    encoders.push_back(encode);
  }
}

TEST(InstructionSets, WithFusedMultiplyAddAgreeBitByBit) {
  for (const std::int64_t dim : {1, 3, 12, 65, 200}) {
    for (const auto& config : all_configs(dim)) {
      SCOPED_TRACE(
          fmt::format("dim {} {} {}", dim, name_of(config.optimizer), name_of(config.storage)));
      OneRow expected(config);
      expected.train(1, 8);
      for (const auto target : targets()) {
        if (target == HWY_SSE4) continue;
        const OnlyTarget only(target);
        OneRow row(config);
        row.train(1, 8);
        ASSERT_EQ(row.bytes(), expected.bytes()) << hwy::TargetName(target);
      }
    }
  }
}

// Without it products are rounded before they are added.
TEST(InstructionSets, WithoutFusedMultiplyAddAgreeToAFewRoundings) {
  for (const std::int64_t dim : {1, 3, 12, 65, 200}) {
    for (const auto& config : optimizer_configs(dim)) {
      OneRow expected(config);
      expected.train(1, 6);
      const OnlyTarget only(HWY_SSE4);
      OneRow row(config);
      row.train(1, 6);
      const auto a = row.weights();
      const auto b = expected.weights();
      for (std::size_t i = 0; i < a.size(); ++i) {
        ASSERT_NEAR(a[i], b[i], 1e-5) << "dim " << dim << ' ' << name_of(config.optimizer);
      }
    }
  }
}

/// What `encode` and `decode` make of random values of many sizes, and of the special ones.
TEST(InstructionSets, RoundAlikeAllOfThem) {
  std::vector<float> values;
  RandomSequence random(1, RandomStream::teacher);
  for (int i = 0; i < 3001; ++i) {
    const float x = 2.0f * unit_float(random()) - 1.0f;
    values.push_back(std::ldexp(x, static_cast<int>(random.below(60)) - 40));
  }
  for (const float x : {0.0f, -0.0f, 65504.0f, 65520.0f, 1e30f}) values.push_back(x);
  for (const auto storage : {Storage::fp16, Storage::bf16, Storage::int8}) {
    for (const auto rounding : {Rounding::stochastic, Rounding::nearest}) {
      std::vector<std::vector<std::byte>> stored;
      std::vector<std::vector<float>> decoded;
      for (const auto target : targets()) {
        const OnlyTarget only(target);
        const StorageKernels kernels = storage_kernels(storage, rounding);
        stored.emplace_back(4 + values.size() * bytes_of(storage));
        decoded.emplace_back(values.size());
        kernels.encode(values.data(), values.size(), {7, FeatureId{8}, RowPart::weights},
                       &stored.back()[4]);
        kernels.decode(&stored.back()[4], values.size(), decoded.back().data());
        EXPECT_EQ(stored.back(), stored.front()) << hwy::TargetName(target);
        EXPECT_EQ(decoded.back(), decoded.front()) << hwy::TargetName(target);
      }
    }
  }
}

}  // namespace
}  // namespace satrap::store
