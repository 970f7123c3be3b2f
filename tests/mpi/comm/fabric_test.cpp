#include "comm/ring/fabric.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/error.hpp"

namespace satrap::comm {
namespace {

/// Every rank to every rank, itself included.
std::vector<Link> all_links(int ranks, std::int64_t bytes) {
  std::vector<Link> links;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) links.push_back({WorldRank{from}, WorldRank{to}, bytes});
  }
  return links;
}

void send(Fabric& fabric, WorldRank to, std::uint64_t value) {
  const auto space = fabric.to(to).reserve(sizeof value);
  ASSERT_TRUE(space.has_value());
  std::memcpy(space->data(), &value, sizeof value);
  fabric.to(to).commit();
}

std::uint64_t receive(Fabric& fabric, WorldRank from) {
  while (true) {
    fabric.progress();
    if (const auto message = fabric.from(from).peek()) {
      std::uint64_t value = 0;
      EXPECT_EQ(message->size(), sizeof value);
      std::memcpy(&value, message->data(), sizeof value);
      fabric.from(from).pop();
      return value;
    }
  }
}

TEST(Fabric, MessagesReachTheirPeer) {
  const auto world = Communicator::world();
  Fabric fabric(world, all_links(world.size(), 4096), 0);
  for (int r = 0; r < world.size(); ++r) {
    send(fabric, WorldRank{r}, static_cast<std::uint64_t>(100 * world.rank() + r));
  }
  fabric.publish();
  for (int r = 0; r < world.size(); ++r) {
    EXPECT_EQ(receive(fabric, WorldRank{r}), static_cast<std::uint64_t>(100 * r + world.rank()));
  }
  world.barrier();
}

TEST(Fabric, NothingIsVisibleBeforePublish) {
  const auto world = Communicator::world();
  Fabric fabric(world, all_links(world.size(), 4096), 0);
  send(fabric, WorldRank{0}, 1);
  world.barrier();
  fabric.progress();
  EXPECT_TRUE(world.rank() != 0 || !fabric.from(WorldRank{0}).peek());
  world.barrier();
}

TEST(Fabric, LandingPutsAreThereWithThePublishedMessage) {
  const auto world = Communicator::world();
  const auto ranks = static_cast<std::size_t>(world.size());
  constexpr std::size_t kBytes = 100'000;
  // Landing zones of different sizes: each has room for what the others put.
  Fabric fabric(world, all_links(world.size(), 4096),
                static_cast<std::int64_t>(kBytes * ranks) + 1000 * world.rank());
  ASSERT_EQ(fabric.landing().size(),
            kBytes * ranks + 1000 * static_cast<std::size_t>(world.rank()));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(fabric.landing().data()) % 64, 0U);
  for (int round = 1; round <= 20; ++round) {
    const std::vector<std::byte> rows(kBytes, static_cast<std::byte>(round));
    for (int r = 0; r < world.size(); ++r) {
      fabric.put(WorldRank{r}, static_cast<std::int64_t>(kBytes) * world.rank(), rows);
      send(fabric, WorldRank{r}, static_cast<std::uint64_t>(round));
    }
    fabric.publish();
    for (int r = 0; r < world.size(); ++r) {
      ASSERT_EQ(receive(fabric, WorldRank{r}), static_cast<std::uint64_t>(round));
      const auto part = fabric.landing().subspan(kBytes * static_cast<std::size_t>(r), kBytes);
      ASSERT_TRUE(std::equal(part.begin(), part.end(), rows.begin()));
    }
    world.barrier();
  }
}

TEST(Fabric, PublishAloneCompletesLandingPuts) {
  const auto world = Communicator::world();
  Fabric fabric(world, {}, 8);
  const std::uint64_t value = 77;
  const int next = (world.rank() + 1) % world.size();
  fabric.put(WorldRank{next}, 0, std::as_bytes(std::span(&value, 1)));
  fabric.publish();
  world.barrier();
  fabric.progress();
  EXPECT_EQ(std::memcmp(fabric.landing().data(), &value, sizeof value), 0);
  world.barrier();
}

TEST(Fabric, RefusesUnknownPeersAndLandingOverflow) {
  const auto world = Communicator::world();
  const WorldRank me{world.rank()};
  Fabric fabric(world, {{WorldRank{0}, WorldRank{0}, 4096}}, 64 * world.rank() + 64);
  if (world.rank() > 0) {
    EXPECT_THROW(fabric.to(me), InternalError);
    EXPECT_THROW(fabric.from(WorldRank{0}), InternalError);
  }
  EXPECT_THROW(fabric.to(WorldRank{world.size()}), InternalError);
  EXPECT_THROW(fabric.from(WorldRank{-1}), InternalError);

  const std::vector<std::byte> bytes(128);
  EXPECT_THROW(fabric.put(WorldRank{0}, 0, bytes), InternalError);  // rank 0 has 64
  EXPECT_THROW(fabric.put(WorldRank{0}, 60, std::span(bytes).first(8)), InternalError);
  EXPECT_THROW(fabric.put(WorldRank{0}, -8, std::span(bytes).first(8)), InternalError);
  EXPECT_THROW(fabric.put(WorldRank{world.size()}, 0, bytes), InternalError);
  try {
    fabric.put(WorldRank{0}, 0, bytes);
  } catch (const InternalError& error) {
    EXPECT_EQ(std::string(error.what()),
              fmt::format("rank {} puts 128 bytes at offset 0 of rank 0's landing zone "
                          "(it has 64 bytes)",
                          world.rank()));
  }
  world.barrier();
}

TEST(Fabric, RefusesTooLongMessages) {
  const auto world = Communicator::world();
  Fabric fabric(world, all_links(world.size(), 8192), 0);
  auto& writer = fabric.to(WorldRank{0});
  EXPECT_EQ(writer.max_message(), 8192 / 4 - 8);
  EXPECT_TRUE(writer.reserve(writer.max_message()));
  EXPECT_THROW(writer.reserve(writer.max_message() + 1), InternalError);
  world.barrier();
}

TEST(Fabric, RefusesDifferentLinks) {
  const auto world = Communicator::world();
  if (world.size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  EXPECT_THROW(Fabric(world, all_links(world.size(), world.rank() == 0 ? 4096 : 8192), 0),
               InternalError);
}

TEST(Fabric, CorruptedMemoryIsNamedAtTheReader) {
  const auto world = Communicator::world();
  Fabric fabric(world, {{WorldRank{0}, WorldRank{0}, 4096}}, 64);
  if (world.rank() == 0) {
    send(fabric, WorldRank{0}, 1);
    fabric.publish();
    // The ring lies before the landing zone; its first word is the length of the first message.
    const std::uint64_t damaged = 5000;
    std::memcpy(fabric.landing().data() - 4096, &damaged, sizeof damaged);
    try {
      fabric.from(WorldRank{0}).peek();
      FAIL() << "a message longer than its ring was accepted";
    } catch (const InternalError& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find("ring from rank 0 to rank 0: a message's length is 5000"), what.npos)
          << what;
    }
  }
  world.barrier();
}

}  // namespace
}  // namespace satrap::comm
