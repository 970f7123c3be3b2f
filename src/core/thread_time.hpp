#pragma once

#include <time.h>

namespace satrap {

/// Seconds of this thread on a core: what else the machine runs counts less than with a wall clock.
inline double thread_seconds() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace satrap
