// Random operations on tables of every kind and on a plain model (model.hpp). SATRAP_MODEL_IDS says
// how many ids they take per table: in the long form of the test, enough for millions for every
// pair of storage type and optimizer.

#include "unit/store/model.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <tuple>

namespace satrap::store {
namespace {

using config::Eviction;
using config::Optimizer;
using config::Storage;
using config::TableConfig;

struct OptimizerCase {
  const char* name;
  void (*set)(TableConfig& config);
};

constexpr OptimizerCase kOptimizers[] = {
    {"sgd", [](TableConfig& c) { c.optimizer = Optimizer::sgd; }},
    {"momentum",
     [](TableConfig& c) {
       c.optimizer = Optimizer::sgd;
       c.momentum = 0.9;
       c.weight_decay = 0.01;
     }},
    {"adagrad",
     [](TableConfig& c) {
       c.optimizer = Optimizer::adagrad;
       c.initial_accumulator = 0.1;
     }},
    {"rowwise_adagrad", [](TableConfig& c) { c.optimizer = Optimizer::rowwise_adagrad; }},
    {"adam", [](TableConfig& c) { c.optimizer = Optimizer::adam; }},
    {"adam_bf16_global",
     [](TableConfig& c) {
       c.optimizer = Optimizer::adam;
       c.moments = Storage::bf16;
       c.bias_correction = config::BiasCorrection::global;
     }},
    {"rowwise_adam", [](TableConfig& c) { c.optimizer = Optimizer::rowwise_adam; }},
    {"ftrl",
     [](TableConfig& c) {
       c.optimizer = Optimizer::ftrl;
       c.l1 = 0.01;
       c.l2 = 0.1;
     }},
    {"lamb",
     [](TableConfig& c) {
       c.optimizer = Optimizer::lamb;
       c.weight_decay = 0.01;
     }},
    {"clipped_and_bounded",
     [](TableConfig& c) {
       c.optimizer = Optimizer::adagrad;
       c.clip_norm = 0.5;
       c.weight_bound = 0.2;
     }},
};
constexpr Storage kStorages[] = {Storage::fp32, Storage::fp16, Storage::bf16, Storage::int8};
constexpr std::int64_t kDims[] = {3, 1, 12, 17, 5, 65};

// Which rows there are: capacity and eviction, and admission.
constexpr void (*kRetention[])(TableConfig& config) = {
    [](TableConfig&) {},
    [](TableConfig& c) { c.capacity = 63; },
    [](TableConfig& c) {
      c.capacity = 150;
      c.eviction = Eviction::lfu;
      c.half_life = 50;
    },
    [](TableConfig& c) {
      c.eviction = Eviction::ttl;
      c.ttl = 40;
    },
    [](TableConfig& c) {
      c.capacity = 200;
      c.eviction = Eviction::none;
    },
    [](TableConfig& c) {
      c.capacity = 60;
      c.eviction = Eviction::ttl;
      c.ttl = 60;
    },
    [](TableConfig& c) { c.capacity = 1; },
    [](TableConfig& c) {
      c.capacity = 7;
      c.eviction = Eviction::lfu;
    },
};
constexpr void (*kAdmission[])(TableConfig& config) = {
    [](TableConfig&) {},
    [](TableConfig& c) {
      c.admit_after = 3;
      c.admission_window = 1 << 14;
    },
    [](TableConfig& c) {
      c.admit_share = 0.6;
      c.not_admitted = config::NotAdmitted::shared_row;
    },
};

/// Ids of operations per table, if the environment says so.
std::int64_t ids_per_table() {
  const char* text = std::getenv("SATRAP_MODEL_IDS");
  return text ? std::atoll(text) : 0;
}

class ModelTest : public testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {
 protected:
  TableConfig config(std::size_t retention, std::size_t admission) const {
    const auto [storage, optimizer] = GetParam();
    auto config = table_config(kDims[(retention + optimizer + storage) % std::size(kDims)]);
    config.storage = kStorages[storage];
    if (config.storage != Storage::fp32 && retention % 2 == 1) {
      config.rounding = config::Rounding::nearest;
    }
    kOptimizers[optimizer].set(config);
    kRetention[retention](config);
    kAdmission[admission](config);
    return config;
  }

  void run(const TableConfig& config, std::uint64_t seed, std::int64_t ids) {
    SCOPED_TRACE(testing::Message()
                 << "dim " << config.dim << ", capacity " << config.capacity << ", "
                 << name_of(config.eviction) << ", admit_after " << config.admit_after
                 << ", admit_share " << config.admit_share << ", seed " << seed);
    Model model(config, seed, seed % 2 == 0);
    for (int i = 0; model.events().ids < ids && !HasFailure(); ++i) {
      model.operate();
      if (i % 10 == 0) model.compare();
    }
    model.compare();
    const Model::Events& events = model.events();
    const bool evicts = config.capacity > 0 && config.eviction != Eviction::none;
    EXPECT_EQ(events.evicted > 0, evicts);
    EXPECT_EQ(events.expired > 0, config.eviction == Eviction::ttl);
    EXPECT_EQ(events.not_admitted > 0, config.admit_after > 1 || config.admit_share < 1);
    EXPECT_EQ(events.refused > 0, config.capacity > 0);
    EXPECT_TRUE(events.dropped > 0 || config.capacity == 0);
  }
};

// Every storage type with every optimizer; in the short form three kinds of tables of each, so that
// all kinds have their turns.
TEST_P(ModelTest, RandomOperations) {
  const auto [storage, optimizer] = GetParam();
  const std::int64_t ids = ids_per_table();
  const std::size_t all = std::size(kRetention) * std::size(kAdmission);
  const std::size_t tables = ids > 0 ? all : 3;
  for (std::size_t i = 0; i < tables && !HasFailure(); ++i) {
    const std::size_t kind = (7 * (storage * std::size(kOptimizers) + optimizer) + 11 * i) % all;
    run(config(kind % std::size(kRetention), kind / std::size(kRetention)), 1 + i % 2,
        ids > 0 ? ids : 5000);
  }
}

std::string name_of_case(const testing::TestParamInfo<ModelTest::ParamType>& info) {
  const auto [storage, optimizer] = info.param;
  return std::string(name_of(kStorages[storage])) + "_" + kOptimizers[optimizer].name;
}

INSTANTIATE_TEST_SUITE_P(Tables, ModelTest,
                         testing::Combine(testing::Range<std::size_t>(0, std::size(kStorages)),
                                          testing::Range<std::size_t>(0, std::size(kOptimizers))),
                         name_of_case);

// Enough rows that the index splits.
TEST(Model, Grows) {
  for (const std::int64_t capacity : {0, 40'000}) {
    auto config = table_config(3, Optimizer::adam, capacity);
    config.storage = Storage::fp16;
    Model model(config, 1, false);
    model.grow(50'000);
    model.compare();
    for (int i = 0; i < 20 && !testing::Test::HasFailure(); ++i) model.operate();
    model.compare();
    EXPECT_EQ(model.events().evicted > 0, capacity > 0);
  }
}

}  // namespace
}  // namespace satrap::store
