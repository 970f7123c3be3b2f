#include "core/signals.hpp"

#include <atomic>
#include <csignal>

#include "core/error.hpp"

namespace satrap {

namespace {

std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "set in a signal handler");

void request_stop(int) {
  requested.store(true, std::memory_order_relaxed);
}

}  // namespace

void catch_stop_signals() {
  struct sigaction action {};
  action.sa_handler = request_stop;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGUSR1}) {
    if (sigaction(signal, &action, nullptr) != 0) {
      throw InternalError("cannot install a signal handler");
    }
  }
}

bool stop_requested() noexcept {
  return requested.load(std::memory_order_relaxed);
}

}  // namespace satrap
