// A job that dies goes on from its newest checkpoint as if nothing had happened.

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <iterator>
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

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
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

/// Rows of 8 and 16 bits, rounded by chance, with appearances counted and rows evicted: all of it
/// goes on where it was.
TEST(Resume, OfSmallRowsWithAdmissionAndEvictionIsBitForBit) {
  const Scratch scratch;
  make_data(scratch, 10'000, 1'000);
  const auto arguments = [&](const std::string& name) {
    return std::vector<std::string>{"train",
                                    small_config(scratch),
                                    "--job.run_dir=" + (scratch / name).string(),
                                    "--train.mode=sync",
                                    "--roles.servers=2",
                                    "--table.*.admit_after=2",
                                    "--table.*.admission_window=1000",
                                    "--table.*.eviction=lfu",
                                    "--table.*.capacity=600",
                                    "--table.*.storage=int8",
                                    "--table.C[12].storage=fp16",
                                    "--table.C[12].optimizer=adam",
                                    "--table.C[12].moments=bf16",
                                    "--table.C[12].lr=0.005"};
  };
  const Ended whole = run(mpirun(3, arguments("whole")));
  ASSERT_EQ(whole.code, 0) << whole.output;
  const auto tables = summary(scratch / "whole").at("tables");
  for (const char* name : {"C1", "C20"}) {
    EXPECT_GT(tables.at(name).at("not_admitted"), 0) << name;
    EXPECT_GT(tables.at(name).at("evicted"), 0) << name;
  }

  auto part = arguments("parts");
  part.push_back("--train.steps=17");
  ASSERT_EQ(run(mpirun(3, part)).code, 0);
  const Ended rest = run(mpirun(3, arguments("parts")));
  ASSERT_EQ(rest.code, 0) << rest.output;
  EXPECT_EQ(rest.output.find("counted anew"), std::string::npos) << rest.output;
  EXPECT_EQ(losses(scratch / "parts"), losses(scratch / "whole"));
  for (const char* file : {"server-0.h5", "server-1.h5"}) {
    const std::string path = std::string("checkpoints/step-40/") + file;
    EXPECT_TRUE(content(scratch / "parts" / path) == content(scratch / "whole" / path)) << file;
  }

  part = arguments("parts");
  part.insert(part.end(), {"--train.epochs=2", "--train.steps=50", "--roles.servers=3"});
  const Ended resized = run(mpirun(4, part));
  EXPECT_EQ(resized.code, 0) << resized.output;
  EXPECT_NE(resized.output.find("counted anew in 26 tables (C1, C2, C3, ...):"), std::string::npos)
      << resized.output;
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
  EXPECT_NE(first.output.find("row updates"), std::string::npos) << first.output;
  const auto eval = run(mpirun(4, {"eval", small_config(scratch), "--roles.servers=3"}));
  ASSERT_EQ(eval.code, 0) << eval.output;
  EXPECT_NE(eval.output.find(" reserved"), std::string::npos) << eval.output;
  for (const char* of_training : {"while training", "undefined", "lookups", "row updates"}) {
    EXPECT_EQ(eval.output.find(of_training), std::string::npos) << eval.output;
  }
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
