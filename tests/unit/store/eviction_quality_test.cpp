// What eviction costs: hit rates beside those of exact policies.

#include <gtest/gtest.h>

#include <list>
#include <set>
#include <tuple>
#include <unordered_map>

#include "unit/store/support.hpp"
#include "unit/store/zipf_stream.hpp"

namespace satrap::store {
namespace {

using config::Optimizer;

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

/// Exact least frequently used, among equals the least recently used. Uses count while a row stays.
class Lfu {
 public:
  explicit Lfu(std::size_t capacity) : capacity_(capacity) {}
  bool touch(FeatureId id) {
    const auto found = uses_.find(id);
    const bool hit = found != uses_.end();
    std::int64_t uses = 1;
    if (hit) {
      uses = std::get<0>(found->second) + 1;
      order_.erase({std::get<0>(found->second), std::get<1>(found->second), id});
    } else if (uses_.size() == capacity_) {
      uses_.erase(std::get<2>(*order_.begin()));
      order_.erase(order_.begin());
    }
    uses_[id] = {uses, ++clock_};
    order_.insert({uses, clock_, id});
    return hit;
  }

 private:
  std::size_t capacity_;
  std::int64_t clock_ = 0;
  std::unordered_map<FeatureId, std::tuple<std::int64_t, std::int64_t>> uses_;
  std::set<std::tuple<std::int64_t, std::int64_t, FeatureId>> order_;
};

/// Hit rates of a table and of exact policies on the same stream.
struct Rates {
  double table = 0, lru = 0, lfu = 0;
};

/// `warm_up` draws, then `draws` that count, in batches of `batch` draws; a shift, added to all
/// ids, says which of them are hot.
template <class Shift>
Rates rates(Table& table, Zipf& zipf, std::size_t warm_up, std::size_t draws, std::size_t batch,
            Shift&& shift) {
  const auto capacity = static_cast<std::size_t>(table.config().capacity);
  Lru lru(capacity);
  Lfu lfu(capacity);
  Rates hits;
  std::int64_t lookups = 0, hits_before = 0;
  Step step = 0;
  for (std::size_t drawn = 0; drawn < warm_up + draws; drawn += batch) {
    auto ids = zipf.batch(batch);
    for (FeatureId& id : ids) id = FeatureId{raw(id) + shift(drawn)};
    const bool counts = drawn >= warm_up;
    if (!counts) hits_before = table.statistics().hits;
    lookup(table, ids, ++step);
    if (!counts) hits_before = table.statistics().hits;
    for (const FeatureId id : ids) {
      const bool in_lru = lru.touch(id), in_lfu = lfu.touch(id);
      hits.lru += counts && in_lru;
      hits.lfu += counts && in_lfu;
    }
    if (counts) lookups += static_cast<std::int64_t>(ids.size());
  }
  const auto n = static_cast<double>(lookups);
  return {static_cast<double>(table.statistics().hits - hits_before) / n, hits.lru / n,
          hits.lfu / n};
}
std::uint64_t still(std::size_t) {
  return 0;
}

TEST(EvictionQuality, HitRateIsThatOfExactLru) {
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
    const Rates rate = rates(table, zipf, 5 * capacity + 100'000, 200'000, draws, still);
    std::cout << "zipf " << exponent << ", capacity " << capacity << ", batch " << draws
              << ": hit rate " << rate.table << ", exact LRU " << rate.lru << '\n';
    EXPECT_GE(rate.table, 0.99 * rate.lru);
  }
}

config::TableConfig lfu_config(std::size_t capacity, std::int64_t half_life) {
  auto config = table_config(1, Optimizer::sgd, static_cast<std::int64_t>(capacity));
  config.eviction = config::Eviction::lfu;
  config.half_life = half_life;
  return config;
}

TEST(EvictionQuality, LfuIsNearExactLfuAndAboveLru) {
  struct Setting {
    double exponent;
    std::size_t capacity;
  };
  for (const auto& [exponent, capacity] :
       {Setting{1.0, 5000}, Setting{0.8, 5000}, Setting{1.2, 1000}}) {
    Zipf zipf(100'000, exponent, 3);
    Table table(TableId{0}, lfu_config(capacity, 0), 1);
    const Rates rate = rates(table, zipf, 5 * capacity + 200'000, 200'000, 64, still);
    std::cout << "zipf " << exponent << ", capacity " << capacity << ": lfu " << rate.table
              << ", exact LFU " << rate.lfu << ", exact LRU " << rate.lru << '\n';
    EXPECT_GE(rate.table, 0.98 * rate.lfu);
    EXPECT_GT(rate.table, rate.lru);
  }
}

// All hot ids become cold at once. Without a half-life the old ones stay; with it the new ones take
// their places.
TEST(EvictionQuality, LfuFollowsAShiftWithAHalfLife) {
  constexpr std::size_t kCapacity = 1000, kShiftAt = 400'000;
  const auto shift = [](std::size_t drawn) {
    return drawn < kShiftAt ? 0 : std::uint64_t{1} << 32;
  };
  const auto run = [&](std::int64_t half_life) {
    Zipf zipf(20'000, 1.0, 3);
    Table table(TableId{0}, lfu_config(kCapacity, half_life), 1);
    return rates(table, zipf, kShiftAt + 40'000, 40'000, 64, shift);
  };
  const Rates forever = run(0);
  const Rates halved = run(200);
  std::cout << "after a shift: lfu " << forever.table << ", with half_life " << halved.table
            << ", exact LRU " << halved.lru << ", exact LFU " << halved.lfu << '\n';
  EXPECT_GT(halved.table, forever.table);
  EXPECT_GT(halved.table, 0.95 * halved.lru);
}

// A row is there for ttl steps, and gone after at most 1/32 more.
TEST(EvictionQuality, TtlEndsOnTime) {
  for (const Step ttl : {1, 10, 63, 320, 1000}) {
    auto config = table_config(1, Optimizer::sgd);
    config.eviction = config::Eviction::ttl;
    config.ttl = ttl;
    Table table(TableId{0}, config, 1);
    constexpr std::uint64_t kIds = 500;
    std::vector<Step> used(kIds, 0);
    RandomSequence random(5, RandomStream::teacher);
    const Step grain = ttl / 32;
    for (Step step = 1; step < 4 * ttl + 100; ++step) {
      const std::uint64_t id = random.below(kIds);
      lookup(table, feature_ids({id}), step);
      used[id] = step;
      if (step % 7 != 0) continue;
      std::vector<bool> there(kIds);
      for (const FeatureId row : export_all(table).ids) there[raw(row)] = true;
      for (std::uint64_t i = 0; i < kIds; ++i) {
        if (used[i] == 0) continue;
        const Step age = step - used[i];
        if (age < ttl) {
          ASSERT_TRUE(there[i]) << "ttl " << ttl << ", age " << age;
        }
        if (age >= ttl + grain) {
          ASSERT_FALSE(there[i]) << "ttl " << ttl << ", age " << age;
        }
      }
    }
  }
}

// Ids come and go, three times as many as fit: what the table takes stays below what it may take.
TEST(EvictionQuality, CapacityInBytesHolds) {
  using config::Storage;
  for (const std::int64_t dim : {1, 16, 65, 256}) {
    for (const Storage storage : {Storage::fp32, Storage::fp16, Storage::int8}) {
      for (const std::int64_t admit_after : {1, 2}) {
        auto config = table_config(dim, Optimizer::adagrad);
        config.storage = storage;
        config.capacity_bytes = 12 << 20;
        config.admit_after = admit_after;
        Table table(TableId{0}, config, 1);
        const auto capacity = static_cast<std::uint64_t>(table.statistics().capacity);
        std::vector<float> out(static_cast<std::size_t>(dim) * 1000);
        std::int64_t most = 0;
        for (std::uint64_t first = 0; first < 3 * capacity; first += 1000) {
          for (std::int64_t seen = 0; seen < admit_after; ++seen) {
            table.lookup(id_range(first, 1000), 1, out.data());
          }
          most = std::max(most, table.statistics().bytes());
        }
        EXPECT_LE(most, config.capacity_bytes)
            << "dim " << dim << ", " << name_of(storage) << ", admit_after " << admit_after;
        EXPECT_GT(table.statistics().evicted, 0);
      }
    }
  }
}

}  // namespace
}  // namespace satrap::store
