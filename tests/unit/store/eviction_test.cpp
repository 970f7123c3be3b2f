#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <list>
#include <unordered_map>

#include "core/error.hpp"
#include "unit/store/support.hpp"

namespace satrap::store {
namespace {

using config::Optimizer;

/// Draws from 0 ... n - 1 with probability proportional to 1 / (rank + 1)^exponent.
class Zipf {
 public:
  Zipf(std::size_t n, double exponent, std::uint64_t seed)
      : cumulative_(n), random_(seed, RandomStream::teacher) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      cumulative_[i] = sum += std::pow(static_cast<double>(i + 1), -exponent);
    }
  }
  Zipf reseeded(std::uint64_t seed) const {
    Zipf zipf = *this;
    zipf.random_ = RandomSequence(seed, RandomStream::teacher);
    return zipf;
  }
  FeatureId operator()() {
    const double x = random_.uniform() * cumulative_.back();
    const auto rank = std::upper_bound(cumulative_.begin(), cumulative_.end(), x);
    return FeatureId(static_cast<std::uint64_t>(rank - cumulative_.begin()));
  }
  /// Distinct ids of `draws` draws, in order of their first.
  std::vector<FeatureId> batch(std::size_t draws) {
    std::vector<FeatureId> ids;
    for (std::size_t i = 0; i < draws; ++i) {
      const FeatureId id = (*this)();
      if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    }
    return ids;
  }

 private:
  std::vector<double> cumulative_;
  RandomSequence random_;
};

/// Exact least recently used.
class Lru {
 public:
  explicit Lru(std::size_t capacity) : capacity_(capacity) {}
  bool touch(FeatureId id) {
    const auto found = places_.find(id);
    const bool hit = found != places_.end();
    if (hit) order_.erase(found->second);
    order_.push_front(id);
    places_[id] = order_.begin();
    if (order_.size() > capacity_) {
      places_.erase(order_.back());
      order_.pop_back();
    }
    return hit;
  }

 private:
  std::size_t capacity_;
  std::list<FeatureId> order_;
  std::unordered_map<FeatureId, std::list<FeatureId>::iterator> places_;
};

TEST(Eviction, HitRateIsThatOfExactLru) {
  struct Setting {
    double exponent;
    std::size_t capacity;
    std::size_t draws;
  };
  for (const auto& [exponent, capacity, draws] :
       {Setting{1.0, 5000, 64}, Setting{0.8, 5000, 64}, Setting{1.2, 1000, 64},
        Setting{1.0, 1000, 500}, Setting{1.0, 20000, 2000}}) {
    Zipf zipf(100'000, exponent, 3);
    Table table(TableId{0}, table_config(1, Optimizer::sgd, static_cast<std::int64_t>(capacity)),
                1);
    Lru lru(capacity);
    std::int64_t lookups = 0, lru_hits = 0, hits_at_start = 0;
    const auto run = [&](std::size_t total) {
      for (std::size_t drawn = 0; drawn < total; drawn += draws) {
        const auto ids = zipf.batch(draws);
        lookup(table, ids);
        for (const FeatureId id : ids) lru_hits += lru.touch(id);
        lookups += static_cast<std::int64_t>(ids.size());
      }
    };
    run(5 * capacity + 100'000);  // warm up
    lookups = lru_hits = 0;
    hits_at_start = table.statistics().hits;
    run(200'000);
    const double rate =
        static_cast<double>(table.statistics().hits - hits_at_start) / static_cast<double>(lookups);
    const double exact = static_cast<double>(lru_hits) / static_cast<double>(lookups);
    std::cout << "zipf " << exponent << ", capacity " << capacity << ", batch " << draws
              << ": hit rate " << rate << ", exact LRU " << exact << '\n';
    EXPECT_GE(rate, 0.99 * exact);
  }
}

/// Trains for `batches` on a Zipf stream that depends on the batch alone.
void train(Table& table, int first, int batches) {
  static const Zipf kZipf(4000, 0.9, 0);
  for (int b = first; b < first + batches; ++b) {
    Zipf zipf = kZipf.reseeded(static_cast<std::uint64_t>(b));
    const auto ids = zipf.batch(20 + static_cast<std::size_t>(b) % 90);
    lookup(table, ids);
    RandomSequence random(static_cast<std::uint64_t>(b), RandomStream::shuffle);
    const auto gradients = random_floats(random, ids.size() * 3);
    table.apply(ids, gradients.data(), {.step = b});
  }
}

TEST(Eviction, ATableThatWasExportedAndImportedGoesOnBitForBit) {
  for (const std::int64_t capacity : {0, 110, 300, 1000}) {
    const auto config = table_config(3, Optimizer::adam, capacity);
    Table kept(TableId{0}, config, 1);
    train(kept, 0, 400);
    EXPECT_EQ(kept.statistics().evicted > 0, capacity > 0);
    Table moved(TableId{0}, config, 1);
    moved.import_rows(export_all(kept));
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

}  // namespace
}  // namespace satrap::store
