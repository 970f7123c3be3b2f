// Numbers of samples that fit neither the batch nor the trainers.

#include <gtest/gtest.h>

#include <tuple>

#include "support/training.hpp"

namespace satrap::test {
namespace {

using Case = std::tuple<int, int, int, bool>;  // samples, trainers, workers, sync

class UnevenEnds : public testing::TestWithParam<Case> {};

TEST_P(UnevenEnds, UseEverySampleOncePerEpoch) {
  const auto [samples, trainers, workers, sync] = GetParam();
  const Scratch scratch;
  make_data(scratch, samples, 101);
  const auto ended =
      run(mpirun(1 + workers + trainers,
                 {"train", small_config(scratch), "--train.epochs=2", "--train.global_batch=64",
                  std::string("--train.mode=") + (sync ? "sync" : "hybrid"),
                  "--roles.workers=" + std::to_string(workers)}));
  ASSERT_EQ(ended.code, 0) << ended.output;
  const auto result = summary(scratch / "run");
  const int steps = (samples + 63) / 64;
  EXPECT_EQ(result.at("step"), 2 * steps);
  EXPECT_EQ(result.at("total_samples"), 2 * samples);
  EXPECT_EQ(result.at("evaluation").at("samples"), 101);
}

INSTANTIATE_TEST_SUITE_P(Sizes, UnevenEnds,
                         testing::Values(Case{1, 3, 0, false}, Case{63, 2, 1, true},
                                         Case{64, 2, 0, false}, Case{65, 3, 1, false},
                                         Case{997, 3, 0, true}, Case{997, 3, 2, false}));

TEST(DropLast, LeavesOutTheSmallerStep) {
  const Scratch scratch;
  make_data(scratch, 200, 101);
  const auto ended = run(mpirun(3, {"train", small_config(scratch), "--train.epochs=2",
                                    "--train.global_batch=64", "--train.drop_last=true"}));
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_EQ(summary(scratch / "run").at("step"), 6);
  EXPECT_EQ(summary(scratch / "run").at("total_samples"), 6 * 64);
}

}  // namespace
}  // namespace satrap::test
