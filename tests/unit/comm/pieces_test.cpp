#include "comm/mpi/pieces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace satrap::comm::detail {
namespace {

using Pieces = std::vector<std::pair<std::int64_t, int>>;

Pieces pieces(std::int64_t total, std::int64_t limit) {
  Pieces all;
  for_each_piece(total, limit,
                 [&](std::int64_t begin, int count) { all.emplace_back(begin, count); });
  return all;
}

TEST(Pieces, CoverEverythingOnce) {
  EXPECT_EQ(pieces(0, 4), Pieces{});
  EXPECT_EQ(pieces(3, 4), (Pieces{{0, 3}}));
  EXPECT_EQ(pieces(4, 4), (Pieces{{0, 4}}));
  EXPECT_EQ(pieces(9, 4), (Pieces{{0, 4}, {4, 4}, {8, 1}}));
}

TEST(Pieces, SplitWhatAnIntCannotCount) {
  constexpr std::int64_t kGiB = std::int64_t{1} << 30;
  EXPECT_EQ(pieces(5 * kGiB / 2, kMaxCount),
            (Pieces{{0, kGiB}, {kGiB, kGiB}, {2 * kGiB, kGiB / 2}}));
}

}  // namespace
}  // namespace satrap::comm::detail
