// A job that dies goes on from its newest checkpoint as if nothing had happened.

#include <gtest/gtest.h>
#include <signal.h>

#include <random>
#include <thread>

#include "support/training.hpp"

namespace satrap::test {
namespace {

std::vector<std::string> arguments(const Scratch& scratch, const std::string& run_dir) {
  return {"train",
          small_config(scratch),
          "--job.run_dir=" + (scratch / run_dir).string(),
          "--train.mode=sync",
          "--train.epochs=3",
          "--train.eval_every=20",
          "--checkpoint.every=10",
          "--roles.servers=2",
          "--job.progress_interval=0.2"};
}

TEST(Resume, AfterAKilledRankTheLossesAreThoseOfAnUndisturbedRun) {
  const Scratch scratch;
  make_data(scratch, 20'000, 2'000);
  const Ended undisturbed = run(mpirun(4, arguments(scratch, "whole")));
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.output;
  const auto expected = losses(scratch / "whole");
  ASSERT_EQ(expected.size(), 237U);

  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  int killed = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    Process job(mpirun(4, arguments(scratch, "killed")));
    // At any moment, from before MPI_Init to the end.
    const double moment = std::uniform_real_distribution<>(0.05, undisturbed.seconds)(random);
    std::this_thread::sleep_for(std::chrono::duration<double>(moment));
    const auto ranks = job.descendants("satrap");
    if (!ranks.empty()) ::kill(ranks[random() % ranks.size()], SIGKILL);
    const Ended ended = job.wait(std::chrono::seconds(30));
    EXPECT_FALSE(ended.timed_out) << "ranks that outlive a killed one must be ended\n"
                                  << ended.output;
    if (ended.code != 0) ++killed;
  }
  const Ended last = run(mpirun(4, arguments(scratch, "killed")));
  ASSERT_EQ(last.code, 0) << last.output;
  EXPECT_EQ(losses(scratch / "killed"), expected) << killed << " runs were killed";
  EXPECT_EQ(summary(scratch / "killed").at("evaluation"),
            summary(scratch / "whole").at("evaluation"));
}

TEST(Resume, OfAFinishedRunEvaluatesAgainAndTrainsNothing) {
  const Scratch scratch;
  make_data(scratch, 2'000, 1'000);
  const auto first = run(mpirun(2, {"train", small_config(scratch)}));
  ASSERT_EQ(first.code, 0) << first.output;
  const auto before = summary(scratch / "run");
  const auto again = run(mpirun(3, {"train", small_config(scratch)}));
  ASSERT_EQ(again.code, 0) << again.output;
  const auto after = summary(scratch / "run");
  EXPECT_EQ(after.at("samples"), 0);
  EXPECT_EQ(after.at("evaluation"), before.at("evaluation"));
}

/// What a job left that died in a save may be all that fills the disk.
TEST(Resume, TheStartRemovesUnfinishedSaves) {
  const Scratch scratch;
  make_data(scratch, 2'000, 1'000);
  const auto rest = scratch / "run/checkpoints/step-7.tmp";
  std::filesystem::create_directories(rest);
  const auto job = run(mpirun(2, {"train", small_config(scratch), "--checkpoint.at_end=false"}));
  ASSERT_EQ(job.code, 0) << job.output;
  EXPECT_FALSE(std::filesystem::exists(rest));
}

TEST(Resume, WithAnotherNumberOfServersKeepsEveryRow) {
  const Scratch scratch;
  make_data(scratch, 2'000, 1'000);
  const auto first = run(mpirun(2, {"train", small_config(scratch)}));
  ASSERT_EQ(first.code, 0) << first.output;
  const auto eval = run(mpirun(4, {"eval", small_config(scratch), "--roles.servers=3"}));
  ASSERT_EQ(eval.code, 0) << eval.output;
}

TEST(Resume, InMidEpochWithAnotherOrderIsTold) {
  const Scratch scratch;
  make_data(scratch, 2'000, 1'000);
  const auto first = run(mpirun(2, {"train", small_config(scratch), "--train.steps=3"}));
  ASSERT_EQ(first.code, 0) << first.output;
  EXPECT_EQ(first.output.find("warning"), std::string::npos) << first.output;
  const auto again = run(mpirun(2, {"train", small_config(scratch), "--train.steps=5"}));
  EXPECT_EQ(again.output.find("warning"), std::string::npos) << again.output;
  const auto other = run(
      mpirun(2, {"train", small_config(scratch), "--train.steps=7", "--data.shuffle_window=500"}));
  ASSERT_EQ(other.code, 0) << other.output;
  EXPECT_NE(other.output.find("data.shuffle_window"), std::string::npos) << other.output;
}

TEST(Resume, NeverRefusesADirectoryWithCheckpoints) {
  const Scratch scratch;
  make_data(scratch, 2'000, 1'000);
  ASSERT_EQ(run(mpirun(2, {"train", small_config(scratch)})).code, 0);
  const auto never = run(mpirun(2, {"train", small_config(scratch), "--job.resume=never"}));
  EXPECT_EQ(never.code, 2);
  EXPECT_NE(never.output.find("job.resume"), std::string::npos) << never.output;
}

}  // namespace
}  // namespace satrap::test
