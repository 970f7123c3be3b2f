#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace satrap::test {

/// How a program ended and what it printed (stdout and stderr together).
struct Ended {
  int code = -1;  ///< Exit code; 128 + signal if one ended it.
  bool timed_out = false;
  std::string output;
  double seconds = 0;
};

/// A program that runs beside the test. The destructor ends it, with everything it started.
class Process {
 public:
  /// `arguments[0]` is looked up in PATH. Throws std::runtime_error if it cannot be started.
  explicit Process(const std::vector<std::string>& arguments);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const noexcept { return pid_; }
  void signal(int number) const;
  /// Pids of all descendants whose program file is named `name`, in the order of their pids.
  std::vector<pid_t> descendants(const std::string& name) const;
  /// What it has printed so far.
  std::string output() const;

  /// Waits for the end; kills everything after `limit`.
  Ended wait(std::chrono::seconds limit);

 private:
  void kill_group() noexcept;

  pid_t pid_ = -1;
  bool reaped_ = false;
  std::string output_path_;
  std::chrono::steady_clock::time_point started_;
};

Ended run(const std::vector<std::string>& arguments,
          std::chrono::seconds limit = std::chrono::seconds(60));

}  // namespace satrap::test
