#include "comm/backoff.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace satrap::comm {
namespace {

/// Idles until the first sleep and returns how long that took.
std::chrono::nanoseconds time_to_first_sleep(Backoff& backoff) {
  const auto start = std::chrono::steady_clock::now();
  do backoff.idle();
  while (backoff.sleep_ns() == 0);
  return std::chrono::steady_clock::now() - start;
}

TEST(Backoff, SleepsOnlyAfterSpinningAndYielding) {
  Backoff backoff(200, 1000);
  EXPECT_GE(time_to_first_sleep(backoff), std::chrono::microseconds(400));
}

TEST(Backoff, SleepsDoubleUpToTheLimit) {
  Backoff backoff(0, 10);
  for (const std::int64_t us : {1, 2, 4, 8, 10, 10}) {
    backoff.idle();
    EXPECT_EQ(backoff.sleep_ns(), us * 1000);
  }
}

TEST(Backoff, ResetStartsOver) {
  Backoff backoff(200, 1000);
  time_to_first_sleep(backoff);
  backoff.reset();
  EXPECT_GE(time_to_first_sleep(backoff), std::chrono::microseconds(400));
}

TEST(Backoff, NoSleepWhereTheLimitIsZero) {
  Backoff backoff(0, 0);
  for (int i = 0; i < 100; ++i) {
    backoff.idle();
    EXPECT_EQ(backoff.sleep_ns(), 0);
  }
}

TEST(Backoff, AShortSleepIsShort) {
  Backoff backoff(0, 1);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 1000; ++i) backoff.idle();
  // With Linux's default slack of 50 us it would be 50 ms or more; another process may take the
  // core away.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(40));
}

}  // namespace
}  // namespace satrap::comm
