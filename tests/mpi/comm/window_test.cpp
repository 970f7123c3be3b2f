#include "comm/mpi/window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace satrap::comm {
namespace {

std::vector<std::byte> filled(std::size_t bytes, int value) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

bool all_are(const std::byte* begin, std::size_t bytes, int value) {
  return std::all_of(begin, begin + bytes,
                     [&](std::byte byte) { return byte == static_cast<std::byte>(value); });
}

TEST(Window, StartsZeroedAndAligned) {
  const auto world = Communicator::world();
  // Sizes differ, so that a rank's memory does not start where its neighbour's would suggest.
  const Window window(world, 1000 + 8 * world.rank() + 1);
  EXPECT_EQ(window.size(), 1000 + 8 * world.rank() + 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(window.data()) % 64, 0U);
  EXPECT_TRUE(all_are(window.data(), static_cast<std::size_t>(window.size()), 0));
}

TEST(Window, PutsReachEveryRankAndSelf) {
  const auto world = Communicator::world();
  constexpr std::size_t kBytes = 20'000;
  Window window(world, static_cast<std::int64_t>(kBytes) * world.size());
  const auto mine = filled(kBytes, world.rank() + 1);
  for (int r = 0; r < world.size(); ++r) {
    window.put(r, static_cast<std::int64_t>(kBytes) * world.rank(), mine);
  }
  window.flush_all();
  world.barrier();
  window.sync();
  for (int r = 0; r < world.size(); ++r) {
    EXPECT_TRUE(all_are(window.data() + kBytes * static_cast<std::size_t>(r), kBytes, r + 1));
  }
  world.barrier();
}

TEST(Window, FlushOfOneTargetCompletesThere) {
  const auto world = Communicator::world();
  Window window(world, 64);
  const int next = (world.rank() + 1) % world.size();
  const auto source = filled(64, world.rank() + 7);
  window.put(next, 0, source);
  window.flush(next);
  world.barrier();
  window.sync();
  EXPECT_TRUE(all_are(window.data(), 64, (world.rank() + world.size() - 1) % world.size() + 7));
  world.barrier();
}

TEST(Window, WordArrivesAfterALocalFlushWithoutFurtherCallsOfItsSender) {
  const auto world = Communicator::world();
  Window window(world, 64);
  const std::uint64_t word = 42;
  const int last = world.size() - 1;
  if (world.rank() == 0) {
    window.put(last, 8, word);
    window.flush_local(last);
  }
  std::uint64_t found = 0;
  while (world.rank() == last && found == 0) {
    window.sync();
    std::memcpy(&found, window.data() + 8, sizeof found);
  }
  EXPECT_EQ(found, world.rank() == last ? word : 0);
  world.barrier();
}

TEST(Window, RefusesPutsOutsideTheTarget) {
  const auto world = Communicator::world();
  Window window(world, 64 * (world.rank() + 1));
  const auto source = filled(65, 1);
  EXPECT_THROW(window.put(0, 0, source), InternalError);  // rank 0 has 64 bytes
  EXPECT_THROW(window.put(0, 60, std::span(source).first(5)), InternalError);
  EXPECT_THROW(window.put(0, -1, std::span(source).first(1)), InternalError);
  EXPECT_THROW(window.put(world.size(), 0, source), InternalError);
  EXPECT_THROW(window.put(-1, 0, source), InternalError);
  EXPECT_NO_THROW(window.put(0, 64, std::span(source).first(0)));
  world.barrier();
  EXPECT_TRUE(all_are(window.data(), 64, 0));
}

TEST(Window, TooLittleMemoryIsAnErrorOnEveryRank) {
  const auto world = Communicator::world();
  constexpr std::int64_t kPiB = std::int64_t{1} << 50;
  EXPECT_THROW(Window(world, kPiB), InternalError);
}

TEST(Window, MovesLeaveNull) {
  const auto world = Communicator::world();
  Window first(world, 64);
  const auto* data = first.data();
  Window second(std::move(first));
  EXPECT_EQ(first.data(), nullptr);  // NOLINT: what a move leaves is part of the contract
  EXPECT_EQ(second.data(), data);

  Window third(world, 128);
  third = std::move(second);  // over a live one, which is freed
  EXPECT_EQ(third.data(), data);
  EXPECT_EQ(third.size(), 64);
  EXPECT_EQ(second.data(), nullptr);  // NOLINT

  auto& alias = third;
  third = std::move(alias);
  EXPECT_EQ(third.data(), data);
  const auto source = filled(64, 3);
  third.put(world.rank(), 0, source);
  third.flush_all();
  EXPECT_TRUE(all_are(third.data(), 64, 3));
}

}  // namespace
}  // namespace satrap::comm
