#include "comm/ring/layout.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace satrap::comm {
namespace {

TEST(Layout, PlacesLinesThenRingsThenTheLandingZone) {
  const Layout layout({{WorldRank{0}, WorldRank{1}, 4096},
                       {WorldRank{1}, WorldRank{0}, 8192},
                       {WorldRank{1}, WorldRank{1}, 4096}},
                      3);
  // Rank 1: control of links 0 and 2, credit of links 1 and 2, rings of links 0 and 2.
  EXPECT_EQ(layout.of_link(0).control, 0);
  EXPECT_EQ(layout.of_link(2).control, 64);
  EXPECT_EQ(layout.of_link(1).credit, 128);
  EXPECT_EQ(layout.of_link(2).credit, 192);
  EXPECT_EQ(layout.of_link(0).ring, 256);
  EXPECT_EQ(layout.of_link(2).ring, 256 + 4096);
  EXPECT_EQ(layout.landing(1), 256 + 2 * 4096);
  // Rank 0: control of link 1, credit of link 0, ring of link 1.
  EXPECT_EQ(layout.of_link(1).control, 0);
  EXPECT_EQ(layout.of_link(0).credit, 64);
  EXPECT_EQ(layout.of_link(1).ring, 128);
  EXPECT_EQ(layout.landing(0), 128 + 8192);
  EXPECT_EQ(layout.landing(2), 0);
}

TEST(Layout, HoldsMoreThanFourGiB) {
  std::vector<Link> links;
  for (int from = 1; from < 5; ++from) {
    links.push_back({WorldRank{from}, WorldRank{0}, std::int64_t{1} << 31});
  }
  EXPECT_EQ(Layout(links, 5).landing(0), 4 * 64 + (std::int64_t{1} << 33));
}

TEST(Layout, RefusesLinksThatCannotBe) {
  const auto refuses = [](const Link& link) { EXPECT_THROW(Layout({link}, 2), InternalError); };
  refuses({WorldRank{0}, WorldRank{2}, 4096});
  refuses({WorldRank{-1}, WorldRank{0}, 4096});
  refuses({WorldRank{0}, WorldRank{1}, 4095});
  refuses({WorldRank{0}, WorldRank{1}, 4096 + 8});
  refuses({WorldRank{0}, WorldRank{1}, 2048});
  refuses({WorldRank{0}, WorldRank{1}, -4096});
  const Link link{WorldRank{0}, WorldRank{1}, 4096};
  EXPECT_THROW(Layout({link, link}, 2), InternalError);
}

}  // namespace
}  // namespace satrap::comm
