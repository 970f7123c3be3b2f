#include <gtest/gtest.h>

#include <fstream>

#include "support/training.hpp"

namespace satrap::test {
namespace {

std::string satrap() {
  return mpirun(1, {}).back();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CommandLine, HelpTellsEveryKey) {
  const Ended help = run({satrap(), "train", "--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* word : {"--dry-run", "global_batch", "staleness", "bottom", "ring_bytes"}) {
    EXPECT_TRUE(contains(help.output, word)) << word;
  }
  EXPECT_EQ(run({satrap(), "--version"}).code, 0);
  EXPECT_EQ(run(tool({"--help"})).code, 0);
}

TEST(CommandLine, WorksWithoutMpirunUntilRolesAreMissing) {
  const Scratch scratch;
  make_data(scratch, 100, 100);
  const Ended alone = run({satrap(), "train", small_config(scratch)});
  EXPECT_EQ(alone.code, 2) << alone.output;
  EXPECT_TRUE(contains(alone.output, "mpirun")) << alone.output;
}

TEST(CommandLine, DryRunPrintsThePlanAndWritesNothing) {
  const Scratch scratch;
  make_data(scratch, 100, 100);
  const Ended dry =
      run(mpirun(4, {"train", small_config(scratch), "--dry-run", "--roles.servers=2",
                     "--table.C3.hash_rows=2", "--table.C3.hash_buckets=1000",
                     "--table.C4.storage=int8", "--table.C4.capacity_bytes=50000000",
                     "--table.C5.admit_after=2", "--table.C5.admission_window=1000000"}));
  EXPECT_EQ(dry.code, 0) << dry.output;
  for (const char* word : {"servers", "ranks 0-1", "ranks 2-3", "C26", "bytes per row", "2000 rows",
                           "int8", "rows, 50.0 MB", "4.0 MB to count appearances"}) {
    EXPECT_TRUE(contains(dry.output, word)) << word << "\n" << dry.output;
  }
  EXPECT_FALSE(std::filesystem::exists(scratch / "run"));
}

TEST(CommandLine, PrintConfigGivesAConfigThatPrintsItself) {
  const Scratch scratch;
  make_data(scratch, 100, 100);
  const Ended first =
      run(mpirun(2, {"train", small_config(scratch), "--print-config", "--train.staleness=3"}));
  ASSERT_EQ(first.code, 0) << first.output;
  EXPECT_TRUE(contains(first.output, "staleness = 3"));
  std::ofstream(scratch / "printed.ini") << first.output;
  const Ended second = run(mpirun(2, {"train", scratch / "printed.ini", "--print-config"}));
  EXPECT_EQ(second.output, first.output);
}

TEST(CommandLine, CapacityFillsATableAndSaysWhatItHolds) {
  const std::vector<std::string> small = {"capacity", "--memory",    "40M",    "--batch",
                                          "1024",     "--seconds",   "0.1",    "--storage",
                                          "fp16",     "--optimizer", "adagrad"};
  const Ended ended = run(tool(small));
  ASSERT_EQ(ended.code, 0) << ended.output;
  for (const char* word : {"25 %", "50 %", "75 %", "100 %", "evicting", "fp16, adagrad, 16 fp32",
                           "1,000,000,000,000 ids", "peak"}) {
    EXPECT_TRUE(contains(ended.output, word)) << word << "\n" << ended.output;
  }
  const Ended too_small = run(tool({"capacity", "--memory", "1M"}));
  EXPECT_TRUE(contains(too_small.output, "use --memory=")) << too_small.output;
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{"--memory", "40X"},
                                                {"--memory", "1000T"},
                                                {"--dim", "0"},
                                                {"--storage", "fp8"},
                                                {"--eviction", "none"},
                                                {"--ids", "1000"},
                                                {"--sweep", "--ids=2T"},
                                                {"--seconds", "-1"}}) {
    std::vector<std::string> arguments = {"capacity"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const Ended refused = run(tool(arguments));
    EXPECT_EQ(refused.code, 2) << wrong[0] << " " << wrong[1] << "\n" << refused.output;
    EXPECT_TRUE(contains(refused.output, ";")) << refused.output;  // A remedy follows.
  }
}

TEST(CommandLine, ACheckpointIsFoundBelowWhatIsNone) {
  const Scratch scratch;
  make_data(scratch, 1'000, 100);
  ASSERT_EQ(run(mpirun(2, {"train", small_config(scratch)})).code, 0);
  const auto step = (scratch / "run/checkpoints/step-4").string();
  for (const char* above : {"run", "run/checkpoints"}) {
    const Ended refused = run(tool({"inspect", (scratch / above).string()}));
    EXPECT_EQ(refused.code, 4) << refused.output;
    EXPECT_TRUE(contains(refused.output, "is not a checkpoint")) << refused.output;
    EXPECT_TRUE(contains(refused.output, step)) << refused.output;
  }
  EXPECT_EQ(run(tool({"inspect", step})).code, 0);
  EXPECT_EQ(run(tool({"verify", step})).code, 0);
  // What would end the job is found before it.
  const Ended dry =
      run(mpirun(2, {"train", small_config(scratch), "--dry-run", "--table.C7.storage=int8"}));
  EXPECT_EQ(dry.code, 4) << dry.output;
  EXPECT_TRUE(contains(dry.output, "table C7 has the storage fp32")) << dry.output;
}

TEST(CommandLine, RolesPerProgramWorkAsMpmd) {
  const Scratch scratch;
  make_data(scratch, 1'000, 100);
  auto command = mpirun(1, {"train", small_config(scratch), "--role", "trainer", ":", "-n", "2",
                            satrap(), "train", small_config(scratch), "--role", "server"});
  const Ended ended = run(command);
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_EQ(summary(scratch / "run").at("total_samples"), 1'000);
}

}  // namespace
}  // namespace satrap::test
