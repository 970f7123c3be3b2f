#include "core/hash.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace satrap {
namespace {

TEST(HashBytes, IsXxh3) {
  // Published test vector: XXH3_64bits of the empty input, seed 0.
  EXPECT_EQ(hash_bytes(""), 0x2d06800538d394c2ULL);
  EXPECT_NE(hash_bytes("a"), hash_bytes("b"));
  EXPECT_NE(hash_bytes("a", 1), hash_bytes("a", 2));
}

TEST(StreamHash, EqualsHashOfWhole) {
  const std::string text(10'000, 'x');
  StreamHash hash;
  hash.update(std::as_bytes(std::span(text).first(17)));
  hash.update(std::as_bytes(std::span(text).subspan(17)));
  EXPECT_EQ(hash.digest(), hash_bytes(text));
}

TEST(RowPlacement, RangesAreContiguousAndCoverAllShards) {
  for (const std::uint32_t shards : {1U, 7U, 64U, 4096U, 65536U}) {
    for (std::int32_t servers : {1, 2, 3, 5, 16, 300}) {
      if (static_cast<std::uint32_t>(servers) > shards) continue;
      const RowPlacement placement(shards, servers);
      EXPECT_EQ(placement.first_shard(ServerId{0}), 0U);
      EXPECT_EQ(placement.first_shard(ServerId{servers}), shards);
      for (std::int32_t s = 0; s < servers; ++s) {
        const auto first = placement.first_shard(ServerId{s});
        const auto end = placement.first_shard(ServerId{s + 1});
        ASSERT_LT(first, end);
        EXPECT_EQ(placement.server_of_shard(first), ServerId{s});
        EXPECT_EQ(placement.server_of_shard(end - 1), ServerId{s});
      }
    }
  }
}

TEST(RowPlacement, SpreadsConsecutiveIdsEvenly) {
  const RowPlacement placement(4096, 4);
  std::vector<int> rows(4);
  constexpr int kIds = 100'000;
  for (int i = 0; i < kIds; ++i) {
    ++rows[static_cast<std::size_t>(raw(placement.server_of(TableId{3}, FeatureId(i))))];
  }
  for (const int n : rows) EXPECT_NEAR(n, kIds / 4, 5 * std::sqrt(kIds / 4));
}

TEST(RowPlacement, RefusesMoreServersThanShards) {
  EXPECT_THROW(RowPlacement(4, 5), ConfigError);
  EXPECT_THROW(RowPlacement(4, 0), ConfigError);
}

}  // namespace
}  // namespace satrap
