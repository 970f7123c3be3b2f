// Growth of the index and of the rows: load, bytes per row, adversarial ids, and memory that ends.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "store/index.hpp"
#include "unit/store/support.hpp"

namespace satrap::store {
namespace {

/// Adds rows of consecutive ids to an index of its own.
struct Filled {
  Arena arena{"table 'test'"};
  Rows rows{arena, 12};
  Index index{arena, rows, 1234};
  EvictionQueue queue{config::TableConfig{}, 1};
  EvictionQueue::Bin bin = queue.next();

  void add(FeatureId id) {
    const std::uint32_t row = rows.append();
    rows.set_id(row, id);
    index.insert(index.hash(id), row, queue.enter(bin));
  }
  /// A table of one row would have room for the next.
  void kill_all() {
    queue.begin_batch(1, 1, [&](const auto& renumbering) { return index.renumber(renumbering); });
    queue.make_room(1);
  }
  Entry find(FeatureId id) const { return index.find(id, index.hash(id)); }
};

// Once there are some segments, the load is the same at every size: no doubling.
TEST(Index, LoadIsTheSameAtEverySize) {
  Filled f;
  std::uint64_t n = 0;
  double lowest = 1, highest = 0;
  for (const std::uint64_t size :
       {800'000U, 1'000'000U, 1'200'000U, 1'500'000U, 1'900'000U, 2'400'000U, 3'000'000U}) {
    for (; n < size; ++n) f.add(FeatureId{n});
    const double load = static_cast<double>(n) / static_cast<double>(f.index.slots());
    lowest = std::min(lowest, load);
    highest = std::max(highest, load);
  }
  std::cout << "load from " << lowest << " to " << highest << '\n';
  EXPECT_GT(lowest, 0.60);
  EXPECT_LT(highest, 0.75);
  for (std::uint64_t i = 0; i < n; i += 37) ASSERT_TRUE(f.find(FeatureId{i}));
  EXPECT_FALSE(f.find(FeatureId{n}));
}

TEST(Index, RemovalLeavesNothingBehind) {
  Filled f;
  // Close to a split, so that many entries are not in their home buckets.
  for (std::uint64_t i = 0; i < 36'000; ++i) f.add(FeatureId{i});
  std::vector<std::uint32_t> freed;
  EXPECT_EQ(f.index.remove_dead(f.queue, 100, freed), 0U);
  f.kill_all();
  EXPECT_EQ(f.queue.dead(), 36'000);
  EXPECT_EQ(f.index.remove_dead(f.queue, 20'000, freed), 20'000U);
  std::int64_t found = 0;
  for (std::uint64_t i = 0; i < 36'000; ++i) found += static_cast<bool>(f.find(FeatureId{i}));
  EXPECT_EQ(found, 16'000);
  EXPECT_EQ(f.index.remove_dead(f.queue, 100'000, freed), 16'000U);
  std::sort(freed.begin(), freed.end());
  EXPECT_TRUE(std::adjacent_find(freed.begin(), freed.end()) == freed.end());
  // An empty index once more: were counts left over, searches would go on for all of a segment.
  const std::int64_t slots = f.index.slots();
  for (int round = 0; round < 200; ++round) {
    for (std::uint64_t i = 0; i < 36'000; ++i) ASSERT_FALSE(f.find(FeatureId{i}));
  }
  EXPECT_EQ(f.index.slots(), slots);
}

constexpr std::uint64_t invert_mix(std::uint64_t x) {
  // Inverses of the multipliers modulo 2^64, by Newton's iteration.
  const auto inverse = [](std::uint64_t m) {
    std::uint64_t r = m;
    for (int i = 0; i < 6; ++i) r *= 2 - m * r;
    return r;
  };
  x ^= x >> 33;
  x *= inverse(0xc4ceb9fe1a85ec53ULL);
  x ^= x >> 33;
  x *= inverse(0xff51afd7ed558ccdULL);
  x ^= x >> 33;
  return x;
}
static_assert(invert_mix(mix(12345)) == 12345);

// Ids whose public hashes all begin and end alike: the salt of the table tells them apart.
TEST(Index, IdsMadeToCollideDoNot) {
  Table table(TableId{0}, table_config(1), 1);
  std::vector<FeatureId> ids;
  for (std::uint64_t i = 0; i < 200'000; ++i) {
    ids.push_back(FeatureId{invert_mix(0xabcd'0000'0000'1234ULL | i << 16)});
  }
  lookup(table, ids);
  EXPECT_EQ(table.size(), 200'000);
  // 10 bytes per entry, and a last block of each kind that is not full.
  EXPECT_LT(table.statistics().bytes(), 200'000 * (16 + 11) + (4 << 20));
}

TEST(Memory, OverheadPerRow) {
  using config::Optimizer;
  struct Setting {
    std::int64_t dim;
    Optimizer optimizer;
    std::int64_t values;  ///< Bytes of weights and optimizer state.
    double overhead;
  };
  constexpr std::int64_t kRows = 1'500'000;
  for (const auto& [dim, optimizer, values, overhead] :
       {Setting{16, Optimizer::rowwise_adagrad, 68, 20}, Setting{4, Optimizer::sgd, 16, 20},
        Setting{8, Optimizer::adam, 96, 24}}) {
    Table table(TableId{0}, table_config(dim, optimizer), 1);
    std::vector<float> out(static_cast<std::size_t>(dim) * 10'000);
    for (std::uint64_t first = 0; first < kRows; first += 10'000) {
      table.lookup(id_range(first, 10'000), 0, out.data());
    }
    // The last block of the rows and that of the index are half full on average.
    const auto bytes = static_cast<double>(table.statistics().bytes() - (2 << 20)) / kRows;
    std::cout << "dim " << dim << ": " << bytes << " bytes per row, "
              << bytes - static_cast<double>(values) << " of them overhead\n";
    EXPECT_LT(bytes, static_cast<double>(values) + overhead);
    EXPECT_NEAR(static_cast<double>(Table::bytes_per_row(table.config())), bytes, 0.04 * bytes);
  }
}

// Growing never needs a second copy of anything large.
TEST(Memory, PeakWhileGrowing) {
  const auto resident = [] {
    std::ifstream statm("/proc/self/statm");
    std::int64_t size = 0, pages = 0;
    statm >> size >> pages;
    return pages * 4096;
  };
  Table table(TableId{0}, table_config(4, config::Optimizer::sgd), 1);
  std::vector<float> out(4 * 20'000);
  std::vector<FeatureId> ids(20'000);
  const std::int64_t before = resident();
  std::int64_t peak = 0;
  std::uint64_t next = 0;
  for (int batch = 0; batch < 100; ++batch) {
    for (FeatureId& id : ids) id = FeatureId{next++};
    table.lookup(ids, 0, out.data());
    peak = std::max(peak, resident() - before);
  }
  const auto steady = table.statistics().bytes();
  std::cout << "peak " << peak << ", steady " << steady << '\n';
  EXPECT_LT(static_cast<double>(peak), 1.15 * static_cast<double>(steady));
}

TEST(Memory, WhenItEndsAnErrorSaysSoAndTheTableIsWhole) {
  std::ifstream statm("/proc/self/statm");
  std::int64_t pages = 0;
  statm >> pages;
  Table table(TableId{0}, table_config(256, config::Optimizer::adam), 1);
  std::vector<float> out(256 * 1000);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = static_cast<rlim_t>(pages) * 4096 + (rlim_t{150} << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  std::string message;
  std::uint64_t first = 0;
  try {
    for (; first < 1'000'000; first += 1000) {
      table.lookup(id_range(first, 1000), 0, out.data());
    }
  } catch (const InternalError& error) {
    message = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_NE(message.find("items"), std::string::npos) << message;
  EXPECT_NE(message.find("more memory"), std::string::npos) << message;
  EXPECT_GE(table.size(), static_cast<std::int64_t>(first));
  EXPECT_EQ(export_all(table).size(), static_cast<std::size_t>(table.size()));
  // With memory again, it goes on.
  lookup(table, id_range(first, 1000));
  EXPECT_EQ(table.size(), static_cast<std::int64_t>(first) + 1000);
}

}  // namespace
}  // namespace satrap::store
