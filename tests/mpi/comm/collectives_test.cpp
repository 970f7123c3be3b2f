#include "comm/collective/collectives.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "comm/backoff.hpp"
#include "core/error.hpp"
#include "core/random.hpp"

namespace satrap::comm {
namespace {

/// Runs `compute` in a thread of its own while this one makes progress, as in a job.
void run(Collectives& collectives, const std::function<void()>& compute) {
  std::atomic<bool> done = false;
  std::jthread thread([&] {
    try {
      compute();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    done = true;
  });
  for (Backoff backoff(5, 50); !done;) {
    collectives.progress() ? backoff.reset() : backoff.idle();
  }
}

class CollectivesTest : public testing::Test {
 protected:
  Communicator world_ = Communicator::world();
  Collectives collectives_{world_};
  int ranks_ = world_.size();
};

TEST_F(CollectivesTest, SeveralSumsAreUnderWayAtOnce) {
  run(collectives_, [&] {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::vector<float>> buckets;
      for (const std::size_t length : {1UL, 1000UL, 0UL, 65'537UL}) {
        auto& bucket = buckets.emplace_back(length);
        for (std::size_t i = 0; i < length; ++i) {
          bucket[i] = static_cast<float>(i % 100) + static_cast<float>(world_.rank() + round);
        }
      }
      for (auto& bucket : buckets) collectives_.start_sum(bucket);
      collectives_.wait_sums();
      const int others = ranks_ * (ranks_ - 1) / 2 + ranks_ * round;
      for (const auto& bucket : buckets) {
        for (std::size_t i = 0; i < bucket.size(); ++i) {
          ASSERT_EQ(bucket[i], static_cast<float>(ranks_ * static_cast<int>(i % 100) + others));
        }
      }
    }
    collectives_.wait_sums();  // nothing started: returns
  });
}

TEST_F(CollectivesTest, SumsAreTheSameEveryTime) {
  const auto sum = [&] {
    RandomSequence random(3, RandomStream::teacher, static_cast<std::uint64_t>(world_.rank()));
    std::vector<float> values(10'000);
    for (auto& value : values) value = static_cast<float>(random.normal());
    collectives_.start_sum(values);
    collectives_.wait_sums();
    return values;
  };
  run(collectives_, [&] {
    const auto first = sum();
    for (int i = 0; i < 5; ++i) {
      // Ranks arrive in another order every time.
      std::this_thread::sleep_for(std::chrono::microseconds(500 * ((world_.rank() + i) % ranks_)));
      ASSERT_EQ(sum(), first);
    }
  });
}

TEST_F(CollectivesTest, BlockingCallsGiveTheirResult) {
  run(collectives_, [&] {
    for (int root = 0; root < ranks_; ++root) {
      std::vector<double> sums{1.0, static_cast<double>(world_.rank())};
      collectives_.sum(sums);
      EXPECT_EQ(sums, (std::vector<double>{static_cast<double>(ranks_),
                                           static_cast<double>(ranks_ * (ranks_ - 1) / 2)}));

      std::vector<std::int64_t> maxima{world_.rank(), -world_.rank()};
      collectives_.max(maxima);
      EXPECT_EQ(maxima, (std::vector<std::int64_t>{ranks_ - 1, 0}));

      std::vector<float> values(1000, static_cast<float>(world_.rank()));
      collectives_.broadcast(values, root);
      EXPECT_EQ(values, std::vector<float>(1000, static_cast<float>(root)));
    }
  });
}

TEST_F(CollectivesTest, GatherKeepsRankOrderAndSizes) {
  const auto bytes_of = [](int rank) {
    return std::vector<std::byte>(static_cast<std::size_t>(rank) * 10'000,
                                  static_cast<std::byte>(rank));
  };
  std::vector<std::byte> expected;
  for (int r = 0; r < ranks_; ++r) {
    const auto part = bytes_of(r);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  run(collectives_, [&] {
    for (int root = 0; root < ranks_; ++root) {
      const auto all = collectives_.gather(bytes_of(world_.rank()), root);
      EXPECT_EQ(all, root == world_.rank() ? expected : std::vector<std::byte>{});
    }
  });
}

TEST_F(CollectivesTest, BarrierWaitsForTheLast) {
  run(collectives_, [&] {
    const auto start = std::chrono::steady_clock::now();
    if (world_.rank() == ranks_ - 1) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    collectives_.barrier();
    EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
  });
}

TEST_F(CollectivesTest, AbandonWakesTheWaitingThread) {
  if (ranks_ == 1) GTEST_SKIP() << "over one rank nothing waits";
  std::atomic<bool> waiting = false;
  std::jthread compute([&] {
    waiting = true;
    EXPECT_THROW(collectives_.barrier(), InternalError);
    EXPECT_THROW(collectives_.barrier(), InternalError);  // and from now on
    EXPECT_THROW(collectives_.wait_sums(), InternalError);
  });
  while (!waiting) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // asleep, and nobody progresses
  collectives_.abandon();
  compute.join();
  EXPECT_FALSE(collectives_.progress());
}

}  // namespace
}  // namespace satrap::comm
