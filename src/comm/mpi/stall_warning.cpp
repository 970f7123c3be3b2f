#include "comm/mpi/stall_warning.hpp"

#include <utility>

#include "core/log.hpp"

namespace satrap::comm {

StallWarning::StallWarning(std::string message, std::chrono::milliseconds patience)
    : thread_([this, text = std::move(message), patience](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        stopped_.wait_for(lock, stop, patience, [] { return false; });
        if (!stop.stop_requested()) spdlog::warn("{}", text);
      }) {}

}  // namespace satrap::comm
