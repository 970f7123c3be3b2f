#include "store/eviction_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/random.hpp"

namespace satrap::store {
namespace {

using config::Eviction;

config::TableConfig policy(Eviction eviction) {
  config::TableConfig config;
  config.eviction = eviction;
  config.ttl = 100;
  return config;
}

/// Rows of one table, with their bins and the times of their last touches.
class TouchedRows {
  auto sweep() {
    return [this](const EvictionQueue::Renumbering& renumbering) {
      ++sweeps_;
      std::map<int, int> into;
      for (const auto bin : renumbering.bin) ++into[bin];
      into.erase(0);
      merges_ += std::any_of(into.begin(), into.end(), [](auto bin) { return bin.second > 1; });
      EvictionQueue::RowsPerBin counts{};
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (rows_[i].time == 0) continue;
        rows_[i].bin = renumbering(rows_[i].bin, static_cast<std::uint8_t>(i * 37));
        ++counts[rows_[i].bin];
      }
      return counts;
    };
  }

 public:
  TouchedRows(std::size_t rows, std::int64_t capacity, Eviction eviction = Eviction::lru)
      : rows_(rows), queue_(policy(eviction), capacity) {}
  TouchedRows(std::size_t rows, std::int64_t capacity, const config::TableConfig& config)
      : rows_(rows), queue_(config, capacity) {}

  void touch(const std::vector<std::size_t>& batch, Step step = 0) {
    ++time_;
    expired_ += queue_.begin_batch(static_cast<std::int64_t>(batch.size()), step, sweep());
    std::vector<std::size_t> missing;
    for (const std::size_t i : batch) {
      Row& row = rows_[i];
      if (row.time == 0 || queue_.dead(row.bin)) {
        missing.push_back(i);
      } else {
        row.bin = queue_.touch(row.bin, mix(i));
        row.time = time_;
        ++row.uses;
      }
    }
    evicted_ += queue_.make_room(static_cast<std::int64_t>(missing.size()));
    for (const std::size_t i : missing) {
      if (rows_[i].time > 0) queue_.reclaimed(rows_[i].bin);  // a dead one comes back
      rows_[i] = {queue_.enter(queue_.next()), time_, 1};
    }
  }

  bool live(std::size_t i) const { return rows_[i].time > 0 && !queue_.dead(rows_[i].bin); }
  std::int64_t time(std::size_t i) const { return rows_[i].time; }
  EvictionQueue::Key key(std::size_t i) const { return queue_.key(rows_[i].bin); }

  /// Rows with smaller keys were touched earlier, no bin holds more than its grain, nothing is
  /// lost.
  void check(std::int64_t largest_bin) const {
    struct Bin {
      std::int64_t rows = 0, first = 0, last = 0;
    };
    std::map<EvictionQueue::Key, Bin> bins;
    std::int64_t live_rows = 0, dead_rows = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].time == 0) continue;
      if (!live(i)) {
        ++dead_rows;
        continue;
      }
      ++live_rows;
      auto [bin, is_new] = bins.try_emplace(key(i), Bin{0, rows_[i].time, rows_[i].time});
      ++bin->second.rows;
      bin->second.first = std::min(bin->second.first, rows_[i].time);
      bin->second.last = std::max(bin->second.last, rows_[i].time);
    }
    ASSERT_EQ(live_rows, queue_.live());
    ASSERT_EQ(dead_rows, queue_.dead());
    std::int64_t latest = 0;
    for (const auto& [key, bin] : bins) {
      EXPECT_LE(bin.rows, largest_bin);
      EXPECT_LE(latest, bin.first);
      latest = bin.last;
    }
  }

  int sweeps() const noexcept { return sweeps_; }
  int merges() const noexcept { return merges_; }
  std::int64_t expired() const noexcept { return expired_; }
  std::int64_t evicted() const noexcept { return evicted_; }
  const EvictionQueue& queue() const noexcept { return queue_; }

 private:
  struct Row {
    EvictionQueue::Bin bin = 0;
    std::int64_t time = 0;
    std::int64_t uses = 0;
  };

  std::vector<Row> rows_;
  EvictionQueue queue_;
  std::int64_t time_ = 0;
  int sweeps_ = 0;
  int merges_ = 0;
  std::int64_t expired_ = 0;
  std::int64_t evicted_ = 0;
};

/// n distinct rows, low ones far more often than high ones: bins empty slowly.
std::vector<std::size_t> random_batch(RandomSequence& random, std::size_t rows, std::size_t n) {
  std::vector<std::size_t> batch;
  while (batch.size() < n) {
    const double u = random.uniform();
    const auto row = static_cast<std::size_t>(u * u * u * static_cast<double>(rows));
    if (std::find(batch.begin(), batch.end(), row) == batch.end()) batch.push_back(row);
  }
  return batch;
}

TEST(EvictionQueue, OrderSurvivesRenumberingAndMerging) {
  for (const std::int64_t capacity : {0, 2000, 1500}) {
    TouchedRows rows(2000, capacity);
    RandomSequence random(1, RandomStream::shuffle);
    rows.touch(random_batch(random, 2000, 900));
    for (int i = 0; i < 20'000; ++i) {
      rows.touch(random_batch(random, 2000, 1 + random.below(3)));
      if (i % 500 == 0) rows.check(62);
    }
    EXPECT_GT(rows.sweeps(), 2);
    // With evictions the oldest bins leave before there are many.
    EXPECT_EQ(rows.merges() > 0, capacity != 1500);
  }
}

TEST(EvictionQueue, MakeRoomDropsTheOldestBinsAndNoMore) {
  TouchedRows rows(1000, 320);
  for (std::size_t i = 0; i < 320; ++i) rows.touch({i});
  EXPECT_EQ(rows.queue().live(), 320);
  rows.touch({900});
  EXPECT_EQ(rows.queue().live(), 311);  // A bin of ten made room for one.
  for (std::size_t i = 901; i < 910; ++i) rows.touch({i});
  EXPECT_EQ(rows.queue().live(), 320);
  rows.check(10);
}

// With ttl = 100 a row dies once it has not been used for 100 steps, or up to three more (1/32).
TEST(EvictionQueue, RowsDieOfAge) {
  TouchedRows rows(400, 0, Eviction::ttl);
  RandomSequence random(2, RandomStream::shuffle);
  std::vector<Step> used(400, -1);
  for (Step step = 1; step < 3000; ++step) {
    std::vector<std::size_t> batch;
    for (std::size_t i = 0; i < 400; ++i) {
      if (random.below(20 + i) == 0) batch.push_back(i);
    }
    rows.touch(batch, step);
    for (const std::size_t i : batch) used[i] = step;
    for (std::size_t i = 0; i < 400; ++i) {
      if (used[i] < 0) continue;
      if (step - used[i] < 100) {
        ASSERT_TRUE(rows.live(i)) << "age " << step - used[i];
      }
      if (step - used[i] >= 103) {
        ASSERT_FALSE(rows.live(i)) << "age " << step - used[i];
      }
    }
    rows.check(400);
  }
  EXPECT_GT(rows.expired(), 1000);
}

// Also when there are so many bins that small ones are merged.
TEST(EvictionQueue, MergingKeepsNobodyAlive) {
  constexpr Step kTtl = 5000;
  constexpr Step kSpan = kTtl / 32;
  auto config = policy(Eviction::ttl);
  config.ttl = kTtl;
  TouchedRows rows(2000, 0, config);
  RandomSequence random(1, RandomStream::shuffle);
  rows.touch(random_batch(random, 2000, 900), 1);
  for (Step step = 2; step < 20'000; ++step) {
    rows.touch(random_batch(random, 2000, 1 + random.below(3)), step);
    if (step % 100 != 0) continue;
    for (std::size_t i = 0; i < 2000; ++i) {
      // A touch is a batch, and a batch a step.
      if (rows.time(i) == 0 || !rows.live(i)) continue;
      ASSERT_LT(step - rows.time(i), kTtl + kSpan);
    }
  }
  EXPECT_GT(rows.merges(), 0);
  EXPECT_GT(rows.expired(), 0);
}

TEST(EvictionQueue, TheLeastUsedRowsGoFirst) {
  TouchedRows rows(2000, 320, Eviction::lfu);
  RandomSequence random(3, RandomStream::shuffle);
  Step step = 0;
  // A hundred rows that are used all the time, then a flood of rows that are used once.
  for (int round = 0; round < 60; ++round) {
    for (std::size_t i = 0; i < 100; i += 10) {
      std::vector<std::size_t> batch;
      for (std::size_t k = i; k < i + 10; ++k) batch.push_back(k);
      rows.touch(batch, ++step);
    }
  }
  for (std::size_t i = 200; i < 2000; ++i) rows.touch({i}, ++step);
  EXPECT_GT(rows.evicted(), 1000);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_TRUE(rows.live(i)) << i;
}

TEST(EvictionQueue, UsesOfLongAgoCountLess) {
  auto config = policy(Eviction::lfu);
  config.half_life = 500;
  TouchedRows rows(20'000, 320, config);
  Step step = 0;
  for (int round = 0; round < 200; ++round) rows.touch({0, 1, 2, 3}, ++step);
  // Rows used twice each, for as long as the first four keep their class.
  std::size_t next = 10;
  const auto flood = [&](Step until) {
    for (; step < until; ++next) {
      rows.touch({next}, ++step);
      rows.touch({next}, ++step);
    }
  };
  flood(1200);
  EXPECT_TRUE(rows.live(0));
  flood(8000);
  EXPECT_FALSE(rows.live(0));
}

TEST(EvictionQueue, ABatchOfTheWholeCapacityAlwaysFits) {
  for (const Eviction eviction : {Eviction::lru, Eviction::lfu, Eviction::ttl}) {
    for (const std::int64_t capacity : {1, 2, 7, 33, 100}) {
      TouchedRows rows(500, capacity, eviction);
      RandomSequence random(4, RandomStream::shuffle);
      for (Step step = 1; step < 2000; ++step) {
        const auto n = 1 + random.below(static_cast<std::uint32_t>(capacity));
        const auto batch = random_batch(random, 500, n);
        rows.touch(batch, step);
        ASSERT_LE(rows.queue().live(), capacity);
        for (const std::size_t i : batch) ASSERT_TRUE(rows.live(i));
      }
    }
  }
}

}  // namespace
}  // namespace satrap::store
