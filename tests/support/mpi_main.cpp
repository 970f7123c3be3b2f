/// The main of test programs that run under mpirun. Rank 0 prints as usual, the others only their
/// failures, tagged. The program fails on every rank if it fails on one, if it runs no test, or if
/// it does not end in time: then the test that hangs is named before CTest gives up.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

#include "comm/mpi/communicator.hpp"
#include "comm/mpi/environment.hpp"

// Open MPI's plug-ins keep memory until the process ends, when they are unloaded and nameless.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0:allocator_may_return_null=1";
}

namespace {

/// SATRAP_TEST_TIMEOUT is what CTest grants, 60 s by default; we speak 10 s before.
std::chrono::seconds patience() {
  const char* granted = std::getenv("SATRAP_TEST_TIMEOUT");
  return std::chrono::seconds(
      std::max(1L, (granted ? std::strtol(granted, nullptr, 10) : 60) - 10));
}

/// Ends the process if it lives too long. Without MPI, which the main thread may be stuck in:
/// mpirun ends the other ranks.
class Watchdog {
 public:
  explicit Watchdog(int rank)
      : rank_(rank), thread_([this](const std::stop_token& stop) { watch(stop); }) {}

  void now_running(std::string test) {
    const std::scoped_lock lock(mutex_);
    test_ = std::move(test);
  }

 private:
  void watch(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, patience(), [] { return false; });
    if (stop.stop_requested()) return;
    std::cerr << "[rank " << rank_ << "] hangs in " << test_ << " after " << patience().count()
              << " s" << std::endl;
    // Gives the other ranks time to say the same.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    std::_Exit(EXIT_FAILURE);
  }

  const int rank_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::string test_ = "start-up";
  std::jthread thread_;  // last: stops and joins before the others go
};

std::string full_name(const testing::TestInfo& test) {
  return std::string(test.test_suite_name()) + "." + test.name();
}

/// Keeps the ranks in step, so that a failure is seen in the test that causes it.
class Lockstep : public testing::EmptyTestEventListener {
 public:
  Lockstep(const satrap::comm::Communicator& world, Watchdog& watchdog)
      : world_(world), watchdog_(watchdog) {}

  void OnTestStart(const testing::TestInfo& test) override {
    watchdog_.now_running(full_name(test));
    world_.barrier();
  }
  void OnTestEnd(const testing::TestInfo&) override { world_.barrier(); }

 private:
  const satrap::comm::Communicator& world_;
  Watchdog& watchdog_;
};

class FailurePrinter : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}

  void OnTestStart(const testing::TestInfo& test) override { test_ = full_name(test); }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::cerr << "[rank " << rank_ << "] " << test_ << " "
              << (result.file_name() ? result.file_name() : "?") << ":" << result.line_number()
              << ": " << result.message() << std::endl;
  }

 private:
  int rank_;
  std::string test_ = "outside of tests";
};

int run(const satrap::comm::Communicator& world) {
  Watchdog watchdog(world.rank());
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (world.rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    delete listeners.Release(listeners.default_xml_generator());
    listeners.Append(new FailurePrinter(world.rank()));
  }
  listeners.Append(new Lockstep(world, watchdog));
  int failed = RUN_ALL_TESTS();
  watchdog.now_running("the end");
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    if (world.rank() == 0) std::cerr << "no test was run" << std::endl;
    failed = 1;
  }
  const auto all = world.all_gather(failed);
  return *std::ranges::max_element(all) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  const satrap::comm::Environment environment(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  return run(satrap::comm::Communicator::world());
}
