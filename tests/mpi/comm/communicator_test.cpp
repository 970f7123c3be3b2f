#include "comm/mpi/communicator.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "core/error.hpp"

namespace satrap::comm {
namespace {

TEST(Communicator, WorldHasEveryRankOnce) {
  const auto world = Communicator::world();
  const auto ranks = world.all_gather(std::int64_t{world.rank()});
  ASSERT_EQ(ranks.size(), static_cast<std::size_t>(world.size()));
  for (int r = 0; r < world.size(); ++r) EXPECT_EQ(ranks[static_cast<std::size_t>(r)], r);
}

TEST(Communicator, BroadcastSendsAnyLength) {
  const auto world = Communicator::world();
  for (const std::size_t length : {0UL, 1UL, 100'000UL}) {
    const int root = world.size() - 1;
    const std::string expected(length, 'x');
    EXPECT_EQ(world.broadcast(world.rank() == root ? expected : "other", root), expected);
  }
}

TEST(Communicator, AllGatherKeepsTextsOfDifferentLengthsApart) {
  const auto world = Communicator::world();
  const auto text_of = [](int rank) {
    return std::string(static_cast<std::size_t>(rank), static_cast<char>('a' + rank));
  };
  const auto texts = world.all_gather(text_of(world.rank()));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(world.size()));
  for (int r = 0; r < world.size(); ++r) EXPECT_EQ(texts[static_cast<std::size_t>(r)], text_of(r));
}

TEST(Communicator, SplitGroupsByColorAndOrdersByKey) {
  const auto world = Communicator::world();
  const auto part = world.split(world.rank() % 2, -world.rank());
  ASSERT_TRUE(part);
  const auto members = part.all_gather(std::int64_t{world.rank()});
  EXPECT_EQ(members.size(), static_cast<std::size_t>((world.size() + 1 - world.rank() % 2) / 2));
  for (std::size_t i = 0; i < members.size(); ++i) {
    EXPECT_EQ(members[i] % 2, world.rank() % 2);
    EXPECT_TRUE(i == 0 || members[i] < members[i - 1]);
  }
}

TEST(Communicator, NegativeColorJoinsNone) {
  const auto world = Communicator::world();
  const auto part = world.split(world.rank() == 0 ? -1 : 0, 0);
  EXPECT_EQ(static_cast<bool>(part), world.rank() != 0);
}

TEST(Communicator, MovesLeaveNull) {
  auto first = Communicator::world();
  const auto handle = first.handle();
  Communicator second(std::move(first));
  EXPECT_FALSE(first);  // NOLINT: what a move leaves is part of the contract
  EXPECT_EQ(second.handle(), handle);

  auto third = Communicator::world();
  third = std::move(second);  // over a live one, which is freed
  EXPECT_EQ(third.handle(), handle);
  EXPECT_FALSE(second);  // NOLINT

  auto& alias = third;
  third = std::move(alias);
  EXPECT_EQ(third.handle(), handle);
  third.barrier();
}

TEST(Communicator, ErrorsAreThrownWithStatementAndPlace) {
  const auto world = Communicator::world();
  try {
    world.broadcast("text", world.size());
    FAIL() << "a root that does not exist was accepted";
  } catch (const InternalError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("MPI_Bcast"), what.npos) << what;
    EXPECT_NE(what.find("MPI_ERR_ROOT"), what.npos) << what;
    EXPECT_NE(what.find("src/comm/mpi/communicator.cpp:"), what.npos) << what;
  }
}

}  // namespace
}  // namespace satrap::comm
