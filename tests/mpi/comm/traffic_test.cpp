/// Random traffic between all ranks through rings that are often full.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "comm/backoff.hpp"
#include "comm/ring/fabric.hpp"
#include "core/hash.hpp"
#include "core/random.hpp"

namespace satrap::comm {
namespace {

struct Header {
  std::uint64_t sequence;
  std::uint64_t checksum;  ///< Of the rest of the message.
};

struct Traffic {
  std::int64_t ring_bytes;
  int messages;               ///< Per link.
  int producer_pause_us = 0;  ///< The even ranks', before each message.
  int consumer_pause_us = 0;  ///< The odd ranks', before each message.
  int consumer_start_ms = 0;  ///< The odd ranks read nothing before.
};

using Clock = std::chrono::steady_clock;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// One rank's side: sends to all and receives from all until everything has arrived.
class Peer {
 public:
  Peer(const Communicator& world, const Traffic& traffic)
      : ranks_(world.size()),
        traffic_(traffic),
        odd_(world.rank() % 2 == 1),
        random_(7, RandomStream::teacher, static_cast<std::uint64_t>(world.rank())),
        fabric_(world, links(), 0),
        sent_(static_cast<std::size_t>(ranks_), 0),
        received_(static_cast<std::size_t>(ranks_), 0) {}

  void run() {
    Backoff backoff(5, 50);
    while (!done()) {
      bool moved = false;
      for (int r = 0; r < ranks_; ++r) moved |= send_to(r);
      fabric_.publish();
      fabric_.progress();
      for (int r = 0; r < ranks_; ++r) moved |= receive_from(r);
      moved ? backoff.reset() : backoff.idle();
    }
  }

  std::int64_t waits() {
    std::int64_t waits = 0;
    for (int r = 0; r < ranks_; ++r) waits += fabric_.to(WorldRank{r}).waits();
    return waits;
  }
  Fabric& fabric() { return fabric_; }

 private:
  std::vector<Link> links() const {
    std::vector<Link> links;
    for (int from = 0; from < ranks_; ++from) {
      for (int to = 0; to < ranks_; ++to) {
        links.push_back({WorldRank{from}, WorldRank{to}, traffic_.ring_bytes});
      }
    }
    return links;
  }

  bool done() const {
    const auto complete = [&](int count) { return count == traffic_.messages; };
    return std::ranges::all_of(sent_, complete) && std::ranges::all_of(received_, complete);
  }

  bool send_to(int rank) {
    int& sent = sent_[static_cast<std::size_t>(rank)];
    if (sent == traffic_.messages) return false;
    auto& writer = fabric_.to(WorldRank{rank});
    const auto body = static_cast<std::int64_t>(
        random_.below(static_cast<std::uint64_t>(writer.max_message()) - sizeof(Header) + 1));
    const auto space = writer.reserve(body + static_cast<std::int64_t>(sizeof(Header)));
    if (!space) return false;
    pause(odd_ ? 0 : traffic_.producer_pause_us);
    const auto content = space->subspan(sizeof(Header));
    for (auto& byte : content) byte = static_cast<std::byte>(random_());
    const Header header{static_cast<std::uint64_t>(sent), hash_bytes(text_of(content))};
    std::memcpy(space->data(), &header, sizeof header);
    writer.commit();
    ++sent;
    return true;
  }

  bool receive_from(int rank) {
    if (odd_ && Clock::now() < consumer_start_) return false;
    auto& reader = fabric_.from(WorldRank{rank});
    const auto message = reader.peek();
    if (!message) return false;
    pause(odd_ ? traffic_.consumer_pause_us : 0);
    Header header{};
    std::memcpy(&header, message->data(), sizeof header);
    int& received = received_[static_cast<std::size_t>(rank)];
    EXPECT_EQ(header.sequence, static_cast<std::uint64_t>(received)) << "from rank " << rank;
    EXPECT_EQ(header.checksum, hash_bytes(text_of(message->subspan(sizeof header))));
    reader.pop();
    ++received;
    return true;
  }

  static void pause(int us) {
    for (const auto end = Clock::now() + std::chrono::microseconds(us); Clock::now() < end;) {
    }
  }

  int ranks_;
  Traffic traffic_;
  bool odd_;
  RandomSequence random_;
  Fabric fabric_;
  std::vector<int> sent_;
  std::vector<int> received_;
  const Clock::time_point consumer_start_ =
      Clock::now() + std::chrono::milliseconds(traffic_.consumer_start_ms);
};

/// Returns how often a ring was found full, over all ranks.
std::int64_t exchange(const Traffic& traffic) {
  const auto world = Communicator::world();
  Peer peer(world, traffic);
  peer.run();
  world.barrier();  // the others are done with our memory
  for (int r = 0; r < world.size(); ++r) {
    peer.fabric().progress();
    EXPECT_FALSE(peer.fabric().from(WorldRank{r}).peek());
    EXPECT_EQ(peer.fabric().to(WorldRank{r}).messages(), traffic.messages);
  }
  const auto waits = world.all_gather(peer.waits());
  return std::accumulate(waits.begin(), waits.end(), std::int64_t{0});
}

int scaled(int messages) {
  const int ranks = Communicator::world().size();
  return messages / (ranks * ranks) + 10;
}

TEST(Traffic, SmallRingsLoseAndReorderNothing) {
  exchange({.ring_bytes = 4096, .messages = scaled(16'000)});
}

TEST(Traffic, RingsWhoseQuarterIsNoWholeLine) {
  exchange({.ring_bytes = 4096 + 64, .messages = scaled(16'000)});
}

TEST(Traffic, LargeRings) {
  exchange({.ring_bytes = 1 << 18, .messages = scaled(400)});
}

TEST(Traffic, SlowProducers) {
  exchange({.ring_bytes = 4096, .messages = scaled(1000), .producer_pause_us = 50});
}

TEST(Traffic, SlowConsumersBlockTheirProducers) {
  if (Communicator::world().size() == 1) GTEST_SKIP() << "there is no odd rank";
  EXPECT_GT(exchange({.ring_bytes = 4096,
                      .messages = scaled(1000) + 10,
                      .consumer_pause_us = 50,
                      .consumer_start_ms = 100}),
            0);
}

}  // namespace
}  // namespace satrap::comm
