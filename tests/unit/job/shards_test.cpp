// What one server holds of a table must be enough for what a batch can ask of it.

#include "job/shards.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "store/table.hpp"

namespace satrap::job {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kBatch = 2048;

config::Config config_of(std::int64_t servers, const config::TableConfig& table) {
  config::Config config;
  config.roles.servers = servers;
  config.slots = {{.name = "user", .table = "user"}};
  config.tables = {table};
  return config;
}

std::string refusal(const config::Config& config, std::int64_t samples = kBatch) {
  try {
    check_shards(config, samples);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

/// The number behind "give at least".
std::int64_t least_of(const std::string& refusal) {
  const std::string words = "give at least ";
  const auto at = refusal.find(words);
  return at == refusal.npos ? 0 : std::stoll(refusal.substr(at + words.size()));
}

/// That `member` of the config is refused below a value, which the refusal tells.
std::int64_t least_accepted(config::Config config, std::int64_t config::TableConfig::*member) {
  config.tables[0].*member = 1;
  const std::int64_t least = least_of(refusal(config));
  config.tables[0].*member = least;
  EXPECT_EQ(refusal(config), "");
  config.tables[0].*member = least - 1;
  EXPECT_EQ(least_of(refusal(config)), least) << refusal(config);
  return least;
}

TEST(Shards, OneServerNeedsTheRowsOfABatch) {
  const auto config = config_of(1, {.name = "user"});
  EXPECT_EQ(least_accepted(config, &config::TableConfig::capacity), kBatch);
}

TEST(Shards, TheRefusalTellsTheLeastCapacity) {
  for (const std::int64_t servers : {2, 3, 16, 1000}) {
    for (const auto eviction : {config::Eviction::lru, config::Eviction::none}) {
      const auto config = config_of(servers, {.name = "user", .eviction = eviction});
      least_accepted(config, &config::TableConfig::capacity);
      least_accepted(config, &config::TableConfig::capacity_bytes);
    }
  }
}

TEST(Shards, RefusalsNameKeyValueAndServers) {
  EXPECT_THAT(refusal(config_of(2, {.name = "user", .capacity = 2048})),
              HasSubstr("table.user.capacity = 2048 is too small for 2 servers"));
  EXPECT_THAT(refusal(config_of(1, {.name = "user", .capacity_bytes = 1'000'000})),
              HasSubstr("table.user.capacity_bytes = 1000000 is too small for 1 server ("));
  EXPECT_THAT(
      refusal(config_of(
          1, {.name = "user", .admit_after = 2, .admission_window = std::int64_t{1} << 40})),
      HasSubstr("table.user.admission_window = "));
}

TEST(Shards, EvaluationNeedsNoRows) {
  EXPECT_EQ(refusal(config_of(2, {.name = "user", .capacity = 1}), 0), "");
  EXPECT_NE(refusal(config_of(2, {.name = "user", .capacity_bytes = 1}), 0), "");
}

TEST(Shards, NoServerNeedsMoreRowsThanThereAre) {
  // All rows of a small hash stack may be on one server, but not more.
  const auto config = config_of(2, {.name = "user", .hash_rows = 2, .hash_buckets = 10});
  EXPECT_EQ(least_accepted(config, &config::TableConfig::capacity), 39);
}

TEST(Shards, EveryBatchFitsTheLeastCapacity) {
  for (const std::int64_t servers : {2, 3, 7, 100}) {
    auto config = config_of(servers, {.name = "user"});
    config.tables[0].capacity = least_accepted(config, &config::TableConfig::capacity);
    const std::int64_t capacity = shard_of(config.tables[0], servers).capacity;
    const RowPlacement placement(static_cast<std::uint32_t>(config.checkpoint.virtual_shards),
                                 static_cast<std::int32_t>(servers));
    std::uint64_t id = 0;
    std::int64_t most = 0;
    for (int batch = 0; batch < 100; ++batch) {
      std::vector<std::int64_t> rows(static_cast<std::size_t>(servers));
      for (std::int64_t i = 0; i < kBatch; ++i) {
        const auto server = raw(placement.server_of(TableId{0}, FeatureId{id++}));
        most = std::max(most, ++rows[static_cast<std::size_t>(server)]);
      }
    }
    EXPECT_LE(most, capacity) << servers;
    EXPECT_GT(most, kBatch / servers) << servers;  // Parts are uneven: this is not for nothing.
  }
}

TEST(Shards, CapacityOfBytesIsThatOfTheTable) {
  for (const std::int64_t window : {0, 100'000}) {
    const config::TableConfig config{
        .name = "user", .capacity_bytes = 20'000'000, .admit_after = 2, .admission_window = window};
    const store::Table table(TableId{0}, config, 1);
    const std::int64_t rows = store::Table::capacity_in_rows(config);
    EXPECT_EQ(rows, table.statistics().capacity);
    EXPECT_LE(store::Table::bytes_for(config, rows), config.capacity_bytes);
    EXPECT_GT(store::Table::bytes_for(config, rows + 1), config.capacity_bytes);
    EXPECT_LE(rows * store::Table::bytes_per_row(config) + store::Table::admission_bytes(config),
              config.capacity_bytes);
    EXPECT_EQ(store::Table::admission_bytes(config), 2 * window);
  }
}

TEST(Shards, TheWindowOfATableWithoutCapacityHasBytesOfItsOwn) {
  const config::TableConfig config{.name = "user", .admit_after = 2};
  EXPECT_EQ(store::Table::admission_bytes(config), 2 << 20);
  EXPECT_EQ(store::Table::bytes_per_row(config), store::Table::bytes_per_row({.name = "user"}));
}

}  // namespace
}  // namespace satrap::job
