#pragma once

namespace satrap {

/// Makes SIGTERM and SIGUSR1 ask for a stop instead of ending the process.
void catch_stop_signals();

/// Whether one of them has arrived. Async-signal-safe to set, cheap to ask.
bool stop_requested() noexcept;

}  // namespace satrap
