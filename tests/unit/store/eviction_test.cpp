#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/error.hpp"
#include "unit/store/support.hpp"
#include "unit/store/zipf_stream.hpp"

namespace satrap::store {
namespace {

using config::Optimizer;

/// Trains for `batches` on a Zipf stream that depends on the batch alone.
void train(Table& table, int first, int batches) {
  static const Zipf kZipf(4000, 0.9, 0);
  for (int b = first; b < first + batches; ++b) {
    Zipf zipf = kZipf.reseeded(static_cast<std::uint64_t>(b));
    const auto ids = zipf.batch(20 + static_cast<std::size_t>(b) % 90);
    lookup(table, ids, b);
    RandomSequence random(static_cast<std::uint64_t>(b), RandomStream::shuffle);
    const auto gradients = random_floats(random, ids.size() * 3);
    table.apply(ids, gradients.data(), {.step = b});
  }
}

TEST(Eviction, ATableThatWasExportedAndImportedGoesOnBitForBit) {
  struct Setting {
    std::int64_t capacity;
    config::Eviction eviction = config::Eviction::lru;
    std::int64_t admit_after = 1;
  };
  using config::Eviction;
  for (const auto& [capacity, eviction, admit_after] :
       {Setting{0}, Setting{110}, Setting{300}, Setting{1000}, Setting{300, Eviction::lfu},
        Setting{1000, Eviction::lfu}, Setting{0, Eviction::ttl}, Setting{300, Eviction::ttl},
        Setting{300, Eviction::lru, 2}, Setting{300, Eviction::lfu, 3},
        Setting{0, Eviction::ttl, 2}}) {
    SCOPED_TRACE(testing::Message()
                 << name_of(eviction) << " of " << capacity << ", admit_after " << admit_after);
    auto config = table_config(3, Optimizer::adam, capacity);
    config.eviction = eviction;
    config.ttl = eviction == Eviction::ttl ? 50 : 0;
    config.half_life = eviction == Eviction::lfu ? 70 : 0;
    config.admit_after = admit_after;
    config.admission_window = 2000;
    Table kept(TableId{0}, config, 1);
    train(kept, 0, 400);
    EXPECT_EQ(kept.statistics().evicted > 0, capacity > 0 || config.ttl > 0);
    Table moved(TableId{0}, config, 1);
    moved.import_rows(export_all(kept));
    std::vector<std::uint16_t> cells;
    kept.save_admission(cells);
    ASSERT_TRUE(moved.restore_admission(cells));
    for (int b = 400; b < 1200; b += 100) {
      train(kept, b, 100);
      train(moved, b, 100);
      expect_same_rows(export_all(kept), export_all(moved));
    }
    EXPECT_GT(kept.size(), 50);
  }
}

TEST(Eviction, SameOperationsSameRows) {
  const auto config = table_config(3, Optimizer::rowwise_adagrad, 500);
  Table a(TableId{0}, config, 1);
  Table b(TableId{0}, config, 1);
  train(a, 0, 500);
  train(b, 0, 500);
  expect_same_rows(export_all(a), export_all(b));
}

// Rows that come with equal stamps, as those of another program may, do not all leave together.
TEST(Eviction, RowsWithEqualStampsLeaveInParts) {
  const auto config = table_config(1, Optimizer::sgd, 3200);
  Table table(TableId{0}, config, 1);
  RowBlock block;
  block.ids = id_range(0, 3200);
  block.weights = column(std::vector<float>(3200, 0.5f));
  block.touched.assign(3200, 7);
  table.import_rows(block);
  lookup(table, id_range(10'000, 1));
  EXPECT_GE(table.size(), 3000);
  EXPECT_LE(table.size(), 3200);
  for (std::uint64_t i = 1; i < 3200; ++i) lookup(table, id_range(10'000 + i, 1));
  EXPECT_GE(table.size(), 3000);
  EXPECT_EQ(export_all(table, 1).ids.front(), FeatureId{10'000});
}

// Keys that no table of ours would write: the order counts, and nothing overflows.
TEST(Eviction, KeysOfAnyKindKeepTheirOrder) {
  const auto config = table_config(1, Optimizer::sgd, 64);
  Table table(TableId{0}, config, 1);
  RowBlock block;
  block.ids = id_range(0, 4);
  block.weights = column(std::vector<float>(4, 0.5f));
  block.touched = {1ULL << 54, 5, (1ULL << 54) - 1, 0};
  table.import_rows(block);
  for (std::uint64_t i = 0; i < 10; ++i) lookup(table, id_range(100 + i, 1));
  const RowBlock rows = export_all(table, 1);
  const auto& touched = rows.touched;
  EXPECT_LT(touched[3], touched[1]);
  EXPECT_LT(touched[1], touched[2]);
  EXPECT_LT(touched[2], touched[0]);
  // The first new row may share the bin of the newest.
  for (std::size_t i = 5; i < rows.size(); ++i) EXPECT_GT(touched[i], touched[0]);
}

// Nor do stamps that only a damaged or hostile file has.
TEST(Eviction, StampsBeyondAnyClockComeBackAsTheyWere) {
  const auto config = table_config(1, Optimizer::sgd, 64);
  Table table(TableId{0}, config, 1);
  RowBlock block;
  block.ids = id_range(0, 3);
  block.weights = column(std::vector<float>(3, 0.5f));
  block.touched = {~0ULL, 5, 1ULL << 55};
  table.import_rows(block);
  for (std::uint64_t i = 0; i < 10; ++i) lookup(table, id_range(100 + i, 1));
  Table moved(TableId{0}, config, 1);
  moved.import_rows(export_all(table));
  expect_same_rows(export_all(moved), export_all(table));
}

// An import makes room by order of all keys, those of its own rows among them, whatever came
// before.
TEST(Eviction, AnImportLeavesOutItsOwnOldRowsFirst) {
  const auto config = table_config(1, Optimizer::sgd, 4);
  Table table(TableId{0}, config, 1);
  RowBlock block;
  block.ids = id_range(0, 5);
  block.weights = column(std::vector<float>(5, 0.5f));
  block.touched = {40, 30, 20, 50, 10};  // The last one does not fit, and would go first.
  table.import_rows(block);
  EXPECT_EQ(export_all(table, 1).ids, id_range(0, 4));
}

// A lookup that evicts rows of a high class does not keep rows of low classes from being imported.
TEST(Eviction, WhatALookupEvictedDoesNotBarImports) {
  auto config = table_config(1, Optimizer::sgd, 64);
  config.eviction = config::Eviction::lfu;
  Table table(TableId{0}, config, 1);
  for (Step step = 1; step < 200; ++step) {
    lookup(table, id_range(static_cast<std::uint64_t>(step) % 2 * 32, 32), step);
  }
  lookup(table, id_range(1000, 60), 200);
  const RowBlock rows = export_all(table);
  table.import_rows(rows);
  expect_same_rows(export_all(table), rows);
}

/// n rows of dim 1 from `first` on with the stamps first, first + 1, ...
RowBlock stamped_rows(std::uint64_t first, std::size_t n) {
  RowBlock block;
  block.ids = id_range(first, n);
  block.weights = column(std::vector<float>(n, 0.5f));
  for (std::size_t i = 0; i < n; ++i) block.touched.push_back(first + i);
  return block;
}

TEST(Eviction, AnImportThatDoesNotFitKeepsTheMostRecentRows) {
  const auto config = table_config(1, Optimizer::sgd, 1000);
  Table table(TableId{0}, config, 1);
  // 3000 rows with as many stamps, the newest neither first nor last.
  for (const std::uint64_t first : {0U, 2000U, 1000U}) table.import_rows(stamped_rows(first, 1000));
  EXPECT_LE(table.size(), 1000);
  EXPECT_GE(table.size(), 900);
  EXPECT_EQ(table.statistics().evicted, 3000 - table.size());
  for (const FeatureId id : export_all(table).ids) EXPECT_GE(raw(id), 2000U);
}

TEST(Eviction, AnImportWithMoreStampsThanBinsKeepsTheirOrder) {
  const auto config = table_config(1, Optimizer::sgd, 10'000);
  Table table(TableId{0}, config, 1);
  for (std::uint64_t first = 0; first < 10'000; first += 500) {
    table.import_rows(stamped_rows((first * 7) % 10'000, 500));
  }
  const RowBlock rows = export_all(table, 1);
  ASSERT_EQ(rows.size(), 10'000U);
  EXPECT_TRUE(std::is_sorted(rows.touched.begin(), rows.touched.end()));
  EXPECT_LT(rows.touched.front(), rows.touched[1000]);
  lookup(table, id_range(20'000, 1000));
  EXPECT_THAT(peek(table, id_range(0, 1000)), testing::Each(0.0f));
  EXPECT_THAT(peek(table, id_range(5000, 5000)), testing::Each(0.5f));
}

TEST(Eviction, AnImportThatDoesNotFitIsRefusedWithoutEviction) {
  auto config = table_config(1, Optimizer::sgd, 1000);
  config.eviction = config::Eviction::none;
  Table table(TableId{0}, config, 1);
  table.import_rows(stamped_rows(0, 1000));
  table.import_rows(stamped_rows(0, 1000));  // The same rows again fit.
  EXPECT_THROW(table.import_rows(stamped_rows(1000, 1)), CheckpointError);
  EXPECT_EQ(table.size(), 1000);
}

TEST(Eviction, ImportRefusesBlocksOfTheWrongSize) {
  Table table(TableId{0}, table_config(2, Optimizer::adagrad), 1);
  lookup(table, id_range(0, 10));
  const RowBlock good = export_all(table);
  const auto refuses = [&](auto change) {
    RowBlock bad = good;
    change(bad);
    EXPECT_THROW(table.import_rows(bad), CheckpointError);
  };
  refuses([](RowBlock& b) { b.weights.pop_back(); });
  refuses([](RowBlock& b) { b.state.pop_back(); });
  refuses([](RowBlock& b) { b.updates.push_back(1); });
  refuses([](RowBlock& b) { b.scales.push_back(1); });
  refuses([](RowBlock& b) { b.touched.push_back(0); });
  refuses([](RowBlock& b) { b.ids.push_back(FeatureId{99}); });
  expect_same_rows(export_all(table), good);
}

// Also when the step that crosses a half-life touches no row.
TEST(Eviction, HalfLivesCountOnceAcrossAnExport) {
  auto config = table_config(1, Optimizer::sgd, 1);
  config.eviction = config::Eviction::lfu;
  config.half_life = 10;
  config.admit_after = 2;
  Table kept(TableId{0}, config, 1);
  for (Step step = 1; step < 10; ++step) lookup(kept, id_range(1, 1), step);
  lookup(kept, id_range(99, 1), 10);  // not admitted
  Table moved(TableId{0}, config, 1);
  moved.import_rows(export_all(kept));
  lookup(kept, id_range(98, 1), 11);
  lookup(moved, id_range(98, 1), 11);
  expect_same_rows(export_all(moved), export_all(kept));
}

// Rows of another program, whose clock is not that of our steps, grow old here as all others do.
TEST(Eviction, RowsFromTheFutureGrowOld) {
  auto config = table_config(1, Optimizer::sgd);
  config.eviction = config::Eviction::ttl;
  config.ttl = 3;
  Table table(TableId{0}, config, 1);
  RowBlock block;
  block.ids = id_range(1000, 2);
  block.weights = column(std::vector<float>(2, 0.5f));
  block.touched = {1'700'000'000'000'000'000ULL, 1'700'000'000'000'000'000ULL - (5ULL << 16)};
  table.import_rows(block);
  for (Step step = 1; step < 100; ++step) {
    lookup(table, id_range(static_cast<std::uint64_t>(step), 1), step);
    ASSERT_LE(table.size(), 5);
  }
  EXPECT_EQ(table.size(), 3);
}

}  // namespace
}  // namespace satrap::store
