#include "data/hash_stack.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <vector>

namespace satrap::data {
namespace {

constexpr std::int64_t kBuckets = 1000;

HashStack stack_of(std::uint32_t table, std::int64_t r, std::int64_t buckets = kBuckets) {
  config::TableConfig config;
  config.hash_rows = r;
  config.hash_buckets = buckets;
  return HashStack(TableId{table}, config);
}

/// The bucket of `id` in each of the ranges; checks that it lies there.
std::vector<std::uint64_t> buckets_of(const HashStack& stack, std::uint64_t id) {
  std::vector<std::uint64_t> buckets;
  stack.for_each_row(FeatureId{id}, [&](FeatureId row) {
    EXPECT_EQ(raw(row) / kBuckets, buckets.size());
    buckets.push_back(raw(row) % kBuckets);
  });
  return buckets;
}

/// Ids as they come: small, in steps, differing in high bits only.
std::vector<std::uint64_t> ids() {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < 100'000; ++i) all.push_back(i);
  for (std::uint64_t i = 1; i < 50'000; ++i) all.push_back(i << 40);
  for (std::uint64_t i = 1; i < 50'000; ++i) all.push_back(~(i * kBuckets));
  return all;
}

/// Deviations from what is expected of a chi-squared value of `cells` equally likely cells.
double deviations(const std::vector<int>& counts) {
  double total = 0;
  for (const int count : counts) total += count;
  const double expected = total / static_cast<double>(counts.size());
  double chi = 0;
  for (const int count : counts) chi += (count - expected) * (count - expected) / expected;
  const double freedom = static_cast<double>(counts.size()) - 1;
  return (chi - freedom) / std::sqrt(2 * freedom);
}

TEST(HashStack, SpreadsIdsEvenlyOverEachRange) {
  const auto stack = stack_of(0, 3);
  std::vector<std::vector<int>> counts(3, std::vector<int>(kBuckets));
  for (const auto id : ids()) {
    const auto buckets = buckets_of(stack, id);
    ASSERT_EQ(buckets.size(), 3U);
    for (std::size_t j = 0; j < 3; ++j) ++counts[j][buckets[j]];
  }
  for (const auto& range : counts) EXPECT_LT(std::abs(deviations(range)), 4);
}

TEST(HashStack, HashesAreIndependentOfEachOtherAndOfOtherTables) {
  const auto stack = stack_of(0, 2);
  const auto other = stack_of(1, 2);
  constexpr std::uint64_t kCells = 20;  // of each, together 400 equally likely pairs
  std::vector<int> ranges(kCells * kCells), tables(kCells * kCells);
  for (const auto id : ids()) {
    const auto a = buckets_of(stack, id);
    const auto b = buckets_of(other, id);
    ++ranges[a[0] % kCells * kCells + a[1] % kCells];
    ++tables[a[0] % kCells * kCells + b[0] % kCells];
  }
  EXPECT_LT(std::abs(deviations(ranges)), 4);
  EXPECT_LT(std::abs(deviations(tables)), 4);
}

/// Of ids that share a row, as many share the next too as chance has it.
TEST(HashStack, IdsThatShareARowSeldomShareAnother) {
  const auto stack = stack_of(0, 2, kBuckets);
  std::map<std::vector<std::uint64_t>, int> seen;
  int both = 0;
  for (const auto id : ids()) both += seen[buckets_of(stack, id)]++;
  const double n = static_cast<double>(ids().size());
  const double expected = n * (n - 1) / 2 / (kBuckets * kBuckets);  // 19,999 pairs
  EXPECT_NEAR(both, expected, 5 * std::sqrt(expected));
}

/// A model that is trained further must find its rows: these values are part of the format.
TEST(HashStack, NeverChanges) {
  std::vector<std::uint64_t> rows;
  stack_of(3, 2, 1'000'000).for_each_row(FeatureId{42}, [&](FeatureId row) {
    rows.push_back(raw(row));
  });
  EXPECT_EQ(rows, (std::vector<std::uint64_t>{257113, 1139495}));
}

TEST(HashStack, MoreRowsKeepTheFirst) {
  const auto two = stack_of(5, 2);
  const auto four = stack_of(5, 4);
  for (std::uint64_t id = 0; id < 100; ++id) {
    auto buckets = buckets_of(four, id);
    buckets.resize(2);
    EXPECT_EQ(buckets, buckets_of(two, id));
  }
}

TEST(HashStack, HasRoomForAllRowsOf63Bits) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 16;
  std::vector<std::uint64_t> rows;
  stack_of(0, 16, kMost).for_each_row(FeatureId{~0ULL}, [&](FeatureId row) {
    EXPECT_EQ(raw(row) / kMost, rows.size());
    rows.push_back(raw(row));
  });
  EXPECT_EQ(rows.size(), 16U);
}

}  // namespace
}  // namespace satrap::data
