// SIGTERM and SIGUSR1 finish the step, save, and end with 75; the next run goes on.

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <thread>

#include "support/training.hpp"

namespace satrap::test {
namespace {

class Signals : public testing::TestWithParam<int> {};

TEST_P(Signals, SaveAndExitWith75) {
  const Scratch scratch;
  make_data(scratch, 60'000, 1'000);
  const std::vector<std::string> arguments = {"train", small_config(scratch), "--train.epochs=20",
                                              "--train.mode=sync", "--job.progress_interval=0.1"};
  auto command = mpirun(3, arguments);
  // SIGTERM makes mpirun itself kill the ranks a second later; the launcher turns it into SIGUSR1.
  if (GetParam() == SIGTERM) {
    command[0] = std::string(std::getenv("SATRAP_SOURCE")) + "/scripts/mpirun.sh";
  }
  Process job(command);
  while (job.output().find(" 0:") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  job.signal(GetParam());
  const Ended ended = job.wait(std::chrono::seconds(30));
  ASSERT_EQ(ended.code, 75) << ended.output;
  const std::int64_t step = summary(scratch / "run").at("step");
  EXPECT_GT(step, 0);

  auto rest = arguments;
  rest.push_back("--train.steps=" + std::to_string(step + 5));
  const Ended resumed = run(mpirun(3, rest));
  ASSERT_EQ(resumed.code, 0) << resumed.output;
  EXPECT_EQ(metrics(scratch / "run", "step").size(), static_cast<std::size_t>(step + 5));

  // Bit for bit what a run without the signal computes.
  rest[2] = "--job.run_dir=" + (scratch / "whole").string();
  rest.push_back("--train.epochs=20");
  const Ended whole = run(mpirun(3, rest));
  ASSERT_EQ(whole.code, 0) << whole.output;
  EXPECT_EQ(losses(scratch / "run"), losses(scratch / "whole"));
}

INSTANTIATE_TEST_SUITE_P(Both, Signals, testing::Values(SIGUSR1, SIGTERM));

}  // namespace
}  // namespace satrap::test
