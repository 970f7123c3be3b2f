/// Transfers whose bytes an int cannot count.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "comm/collective/collectives.hpp"
#include "comm/mpi/window.hpp"

namespace satrap::comm {
namespace {

constexpr std::size_t kBytes = (std::size_t{2} << 30) + 4321;

/// Different everywhere that a piece could be mistaken for another.
std::vector<std::byte> content() {
  std::vector<std::byte> bytes(kBytes);
  for (std::size_t i = 0; i < kBytes; ++i) bytes[i] = static_cast<std::byte>((i >> 20) * 31 + i);
  return bytes;
}

TEST(Large, PutIsWhole) {
  const auto world = Communicator::world();
  Window window(world, world.rank() == 1 ? static_cast<std::int64_t>(kBytes) : 0);
  const auto expected = content();
  if (world.rank() == 0) {
    window.put(1, 0, expected);
    window.flush(1);
  }
  world.barrier();
  window.sync();
  if (world.rank() == 1) {
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), window.data()));
  }
  world.barrier();
}

TEST(Large, GatherIsWhole) {
  const auto world = Communicator::world();
  Collectives collectives(world);
  std::vector<std::byte> all;
  std::atomic<bool> done = false;
  std::jthread compute([&] {
    all = collectives.gather(world.rank() == 1 ? content() : std::vector<std::byte>(10), 0);
    done = true;
  });
  while (!done) collectives.progress();
  if (world.rank() != 0) return;
  const auto expected = content();
  ASSERT_EQ(all.size(), kBytes + 10);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), all.begin() + 10));
}

}  // namespace
}  // namespace satrap::comm
