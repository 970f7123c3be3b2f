#pragma once

#include <cstdint>

namespace satrap::comm {

/// What a polling loop does when a turn found nothing to do: spins for spin_us, then yields, then
/// sleeps, doubling up to max_sleep_us, so that ranks can share cores.
class Backoff {
 public:
  Backoff(std::int64_t spin_us, std::int64_t max_sleep_us);

  void idle();
  void reset() noexcept;

 private:
  std::int64_t spin_ns_;
  std::int64_t max_sleep_ns_;
  std::int64_t idle_since_ns_ = 0;  ///< 0: not idle
  std::int64_t sleep_ns_ = 0;
};

}  // namespace satrap::comm
