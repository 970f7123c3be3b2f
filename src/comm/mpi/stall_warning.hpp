#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace satrap::comm {

/// Logs `message` once as a warning if it is still alive after `patience`. Around start-up steps
/// that wait for every rank: a network that drops connections shows as silence, not as an error.
class StallWarning {
 public:
  StallWarning(std::string message, std::chrono::milliseconds patience);
  StallWarning(const StallWarning&) = delete;
  StallWarning& operator=(const StallWarning&) = delete;
  ~StallWarning() = default;

 private:
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  ///< Last: stops and joins before the others go.
};

}  // namespace satrap::comm
