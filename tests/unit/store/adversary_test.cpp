// Ids that someone made to collide who knows the seed, and so the salt of the index. They may be
// slow and may be refused, but must neither hang a job nor take memory out of proportion.

#include <gtest/gtest.h>

#include <chrono>
#include <limits>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "unit/store/support.hpp"

namespace satrap::store {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr TableId kTable{0};

constexpr std::uint64_t inverse(std::uint64_t odd) {
  std::uint64_t r = odd;
  for (int i = 0; i < 6; ++i) r *= 2 - odd * r;  // Newton's iteration modulo 2^64
  return r;
}
/// The id whose hash in the index of the table is `hash`.
constexpr FeatureId id_of(std::uint64_t hash) {
  hash ^= hash >> 33;
  hash *= inverse(0xc4ceb9fe1a85ec53ULL);
  hash ^= hash >> 33;
  hash *= inverse(0xff51afd7ed558ccdULL);
  hash ^= hash >> 33;
  return FeatureId{hash ^ mix(kSeed + raw(kTable))};
}

/// Seconds that two lookups of `ids` take.
double seconds(Table& table, const std::vector<FeatureId>& ids) {
  const auto start = std::chrono::steady_clock::now();
  const auto rows = lookup(table, ids);
  EXPECT_EQ(lookup(table, ids), rows);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// All the ids there are of one cell of the largest directory, one bucket and one fingerprint: a
// search compares with all that came before. There are 2^13 of them, so it ends, and others are as
// fast as before.
TEST(Adversary, IdsThatAreAlikeInAllThatTheIndexLooksAt) {
  std::vector<FeatureId> ids;
  for (std::uint64_t i = 0; i < 1U << 13; ++i)
    ids.push_back(id_of(0x1234'5678'0006'6123ULL | i << 20));
  Table table(kTable, table_config(1), kSeed);
  const double needed = seconds(table, ids);
  std::cout << 1e9 * needed / (2.0 * static_cast<double>(ids.size())) << " ns per id\n";
  EXPECT_LT(needed, 10);  // Even on a busy machine and under sanitizers.
  EXPECT_EQ(table.size(), 1 << 13);
}

// Ids that share a segment however often it is split fill it, and then an error says so.
TEST(Adversary, IdsThatNoSplitTellsApartAreRefused) {
  std::vector<FeatureId> ids;
  for (std::uint64_t i = 0; i < 41'000; ++i) {
    const std::uint64_t low = mix(i) & 0xffffffff;
    ids.push_back(id_of(0x1234'5678'0000'0000ULL | low));
  }
  Table table(kTable, table_config(1), kSeed);
  std::string message;
  try {
    lookup(table, ids);
  } catch (const InternalError& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("made to collide"), std::string::npos) << message;
  EXPECT_NE(message.find("job.seed"), std::string::npos) << message;
  // The table is whole, and other ids find their places.
  EXPECT_GT(table.size(), 40'000);
  EXPECT_EQ(export_all(table).size(), static_cast<std::size_t>(table.size()));
  lookup(table, id_range(0, 1000));
  EXPECT_GT(table.size(), 41'000);
  std::cout << (table.statistics().bytes() >> 20) << " MiB for " << table.size() << " rows\n";
  EXPECT_LT(table.statistics().bytes(), std::int64_t{16} << 20);
}

TEST(Adversary, IdsWithOnlyHighBits) {
  Table table(kTable, table_config(1), kSeed);
  std::vector<FeatureId> ids = {FeatureId{std::numeric_limits<std::uint64_t>::max()}};
  for (std::uint64_t i = 0; i < 50'000; ++i) ids.push_back(FeatureId{i << 48});
  EXPECT_LT(seconds(table, ids), 10);
  EXPECT_EQ(table.size(), 50'001);
  EXPECT_LT(static_cast<double>(table.statistics().probes),
            1.5 * static_cast<double>(table.statistics().searches));
}

}  // namespace
}  // namespace satrap::store
