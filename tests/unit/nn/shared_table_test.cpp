// Slots that share a table, from ids to gradients of rows: what a trainer makes of them against a
// loop over every id of every sample.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "data/dedup.hpp"
#include "data/hash_stack.hpp"
#include "nn/pooling.hpp"

namespace satrap::nn {
namespace {

constexpr std::int64_t kDim = 5;
constexpr std::int64_t kBatch = 40;
using Vector = std::vector<double>;  // [kDim]

struct SharedCase {
  const char* name;
  std::int64_t hash_rows;
  std::int64_t hash_buckets;
};

class SharedTable : public testing::TestWithParam<SharedCase> {
 protected:
  /// Three slots of one table: a sum, a mean, a sum.
  static config::Config make_config() {
    config::Config config;
    config.slots = {{.name = "a", .table = "t"},
                    {.name = "b", .table = "t", .pooling = config::Pooling::mean},
                    {.name = "c", .table = "t"}};
    config.tables.resize(1);
    config.tables[0].name = "t";
    config.tables[0].hash_rows = GetParam().hash_rows;
    config.tables[0].hash_buckets = GetParam().hash_buckets;
    return config;
  }

  /// Bags of 0 to 4 of 30 ids, so that ids meet again in a bag, in a slot and in other slots.
  data::SampleBatch make_samples() {
    data::SampleBatch samples;
    samples.labels.assign(kBatch, 0.0f);
    samples.slots.resize(3);
    for (auto& slot : samples.slots) {
      slot.offsets = {0};
      for (std::int64_t i = 0; i < kBatch; ++i) {
        for (auto n = random_() % 5; n > 0; --n) slot.ids.push_back(FeatureId{random_() % 30});
        slot.offsets.push_back(static_cast<std::uint32_t>(slot.ids.size()));
      }
    }
    return samples;
  }

  std::vector<FeatureId> rows_of(FeatureId id) const {
    if (config_.tables[0].hash_rows == 0) return {id};
    std::vector<FeatureId> rows;
    data::HashStack(TableId{0}, config_.tables[0]).for_each_row(id, [&](FeatureId row) {
      rows.push_back(row);
    });
    return rows;
  }

  BagView bags_of(std::size_t slot) const {
    return {kBatch, batch_.slots[slot].indices.data(), batch_.slots[slot].offsets.data(),
            kDim,   config_.slots[slot].pooling,       config_.tables[0].rows_per_id()};
  }

  /// What the vector of each id of bag `i` counts for.
  double weight(std::size_t slot, std::size_t i) const {
    const auto& offsets = samples_.slots[slot].offsets;
    const double ids = offsets[i + 1] - offsets[i];
    return config_.slots[slot].pooling == config::Pooling::mean && ids > 0 ? 1 / ids : 1;
  }

  template <class Fn>
  void for_each_id(std::size_t slot, Fn&& fn) const {
    const auto& [ids, offsets] = samples_.slots[slot];
    for (std::size_t i = 0; i < kBatch; ++i) {
      for (auto k = offsets[i]; k < offsets[i + 1]; ++k) fn(i, ids[k]);
    }
  }

  float uniform() { return static_cast<float>(random_() % 2001) / 1000 - 1; }

  std::mt19937 random_{3};
  const config::Config config_ = make_config();
  const data::SampleBatch samples_ = make_samples();
  data::IdBatch batch_ = [this] {
    data::IdBatch batch;
    data::SampleBatch copy = samples_;
    data::Deduplicator(config_, RowPlacement(64, 2)).run(std::move(copy), batch);
    return batch;
  }();
};

TEST_P(SharedTable, PoolsTheSameRowsForAllSlots) {
  const auto& unique = batch_.tables[0].unique;
  std::vector<float> rows;
  std::map<FeatureId, Vector> row_of;
  for (const FeatureId id : unique) {
    for (std::int64_t d = 0; d < kDim; ++d) rows.push_back(uniform());
    ASSERT_TRUE(row_of.try_emplace(id, rows.end() - kDim, rows.end()).second) << "twice";
  }
  for (std::size_t slot = 0; slot < 3; ++slot) {
    Vector expected(kBatch * kDim);
    for_each_id(slot, [&](std::size_t i, FeatureId id) {
      for (const FeatureId row : rows_of(id)) {
        for (std::size_t d = 0; d < kDim; ++d) {
          expected[i * kDim + d] += weight(slot, i) * row_of.at(row)[d];
        }
      }
    });
    std::vector<float> pooled(kBatch * kDim);
    pool_forward(bags_of(slot), rows.data(), pooled.data(), kDim);
    for (std::size_t k = 0; k < pooled.size(); ++k) ASSERT_NEAR(pooled[k], expected[k], 1e-5);
  }
}

TEST_P(SharedTable, SumsTheGradientsOfAllSlots) {
  const auto& unique = batch_.tables[0].unique;
  std::vector<float> row_gradients(unique.size() * kDim);
  std::map<FeatureId, Vector> expected;
  for (std::size_t slot = 0; slot < 3; ++slot) {
    std::vector<float> gradients(kBatch * kDim);
    for (float& g : gradients) g = uniform();
    for_each_id(slot, [&](std::size_t i, FeatureId id) {
      for (const FeatureId row : rows_of(id)) {
        Vector& sum = expected.try_emplace(row, kDim).first->second;
        for (std::size_t d = 0; d < kDim; ++d) {
          sum[d] += weight(slot, i) * static_cast<double>(gradients[i * kDim + d]);
        }
      }
    });
    pool_backward(bags_of(slot), gradients.data(), kDim, row_gradients.data());
  }
  ASSERT_EQ(unique.size(), expected.size());
  for (std::size_t u = 0; u < unique.size(); ++u) {
    for (std::size_t d = 0; d < kDim; ++d) {
      EXPECT_NEAR(row_gradients[u * kDim + d], expected.at(unique[u])[d], 1e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, SharedTable,
                         testing::Values(SharedCase{"RowPerId", 0, 0},
                                         SharedCase{"OneHash", 1, 100},
                                         SharedCase{"TwoHashesOfFewRows", 2, 7},
                                         SharedCase{"ThreeHashes", 3, 1000}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace satrap::nn
