#include "comm/backoff.hpp"

#include <sched.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace satrap::comm {

namespace {

constexpr std::int64_t kFirstSleepNs = 1000;

std::int64_t now_ns() {
  const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_boot).count();
}

}  // namespace

Backoff::Backoff(std::int64_t spin_us, std::int64_t max_sleep_us)
    : spin_ns_(spin_us * 1000), max_sleep_ns_(max_sleep_us * 1000) {
  // Linux lets a sleep end up to 50 us late by default, more than most sleeps here.
  prctl(PR_SET_TIMERSLACK, kFirstSleepNs, 0, 0, 0);
}

void Backoff::idle() {
  const std::int64_t now = now_ns();
  if (idle_since_ns_ == 0) {
    idle_since_ns_ = now;
    sleep_ns_ = 0;
  }
  const std::int64_t idle_ns = now - idle_since_ns_;
  if (idle_ns < spin_ns_) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  } else if (idle_ns < 2 * spin_ns_ || max_sleep_ns_ == 0) {
    sched_yield();
  } else {
    sleep_ns_ = std::clamp(2 * sleep_ns_, std::min(kFirstSleepNs, max_sleep_ns_), max_sleep_ns_);
    std::this_thread::sleep_for(std::chrono::nanoseconds(sleep_ns_));
  }
}

}  // namespace satrap::comm
