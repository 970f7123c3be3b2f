#include "core/queue.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace satrap {
namespace {

TEST(BoundedQueue, KeepsOrderAcrossThreads) {
  BoundedQueue<std::unique_ptr<int>> queue(3);
  std::jthread producer([&] {
    for (int i = 0; i < 1000; ++i) queue.push(std::make_unique<int>(i));
    queue.close();
  });
  int expected = 0;
  while (const auto item = queue.pop()) EXPECT_EQ(**item, expected++);
  EXPECT_EQ(expected, 1000);
}

TEST(BoundedQueue, CloseReleasesBlockedProducer) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.push(1));
  std::jthread producer([&] { EXPECT_FALSE(queue.push(2)); });
  while (queue.size() != 1) std::this_thread::yield();
  queue.close();
  producer.join();
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.pop(), std::nullopt);
}

}  // namespace
}  // namespace satrap
