#pragma once

#include <cstdint>

namespace satrap::comm {

/// What a polling loop does when a turn found nothing to do: spins for spin_us, then yields for as
/// long again, then sleeps, doubling up to max_sleep_us, so that ranks can share cores. One thread
/// makes and uses it; its timer slack is lowered so that short sleeps are short.
///
///     for (Backoff backoff(20, 100); !done;) {
///       if (turn()) backoff.reset(); else backoff.idle();
///     }
class Backoff {
 public:
  Backoff(std::int64_t spin_us, std::int64_t max_sleep_us);

  /// Nothing was found: waits for as long as the idle time so far suggests.
  void idle();
  /// Something was found.
  void reset() noexcept { idle_since_ns_ = 0; }

  /// The last idle() slept for this long; 0: it did not sleep.
  std::int64_t sleep_ns() const noexcept { return sleep_ns_; }

 private:
  std::int64_t spin_ns_;
  std::int64_t max_sleep_ns_;
  std::int64_t idle_since_ns_ = 0;  ///< 0: not idle
  std::int64_t sleep_ns_ = 0;
};

}  // namespace satrap::comm
