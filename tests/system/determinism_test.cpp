// What a run computes does not depend on how it is spread over ranks.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "h5/file.hpp"
#include "support/training.hpp"

namespace satrap::test {
namespace {

/// Runs the small config in `mode` with these roles; returns its run directory.
std::filesystem::path train(const Scratch& scratch, int servers, int workers, int trainers,
                            const std::vector<std::string>& options = {}) {
  const std::string name =
      std::to_string(servers) + "-" + std::to_string(workers) + "-" + std::to_string(trainers);
  const auto run_dir = scratch / name;
  std::vector<std::string> arguments = {"train",
                                        small_config(scratch),
                                        "--job.run_dir=" + run_dir.string(),
                                        "--train.mode=sync",
                                        "--roles.servers=" + std::to_string(servers),
                                        "--roles.workers=" + std::to_string(workers)};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Ended ended = run(mpirun(servers + workers + trainers, arguments));
  EXPECT_EQ(ended.code, 0) << name << "\n" << ended.output;
  return run_dir;
}

struct Rows {
  std::vector<std::uint64_t> ids;
  std::vector<float> weights;
  std::vector<float> state;

  friend bool operator==(const Rows&, const Rows&) = default;
};

/// Every row of every table of the newest checkpoint, as the top file shows them: by virtual shard,
/// then by id, whatever the number of servers.
std::vector<Rows> checkpoint_rows(const std::filesystem::path& run_dir) {
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir / "checkpoints")) {
    if (entry.is_directory()) newest = entry.path();
  }
  const auto file = h5::File::open(newest / "checkpoint.h5");
  std::vector<Rows> tables;
  const auto group = file.group("tables");
  for (const auto& name : group.children()) {
    const auto table = group.group(name);
    tables.push_back({table.dataset("ids").read<std::uint64_t>(),
                      table.dataset("weights").read<float>(),
                      table.dataset("state").read<float>()});
  }
  return tables;
}

TEST(Sync, IsTheSameBitForBitForAnyNumberOfServersAndWorkers) {
  const Scratch scratch;
  make_data(scratch, 5'000, 1'000);
  const auto reference = train(scratch, 1, 0, 2);
  const auto reference_losses = losses(reference);
  const auto reference_rows = checkpoint_rows(reference);
  ASSERT_EQ(reference_losses.size(), 20U);
  ASSERT_EQ(reference_rows.size(), 26U);
  ASSERT_FALSE(reference_rows[0].ids.empty());
  for (const int servers : {1, 2, 4}) {
    for (const int workers : {0, 1, 2}) {
      if (servers == 1 && workers == 0) continue;
      SCOPED_TRACE(testing::Message() << servers << " servers, " << workers << " workers");
      const auto run_dir = train(scratch, servers, workers, 2);
      EXPECT_EQ(losses(run_dir), reference_losses);
      EXPECT_EQ(checkpoint_rows(run_dir), reference_rows);
      EXPECT_EQ(summary(run_dir).at("evaluation"), summary(reference).at("evaluation"));
    }
  }
}

/// Three slots that share a table of hashed rows, one with such a table of its own, 22 with
/// ordinary tables.
TEST(Sync, WithAHashStackIsTheSameForAnyNumberOfServersAndWorkers) {
  const Scratch scratch;
  make_data(scratch, 5'000, 1'000);
  const std::vector<std::string> options = {
      "--slot.C[12].table=C3",  "--table.C3.hash_rows=2", "--table.C3.hash_buckets=300",
      "--slot.C1.pooling=mean", "--table.C4.hash_rows=3", "--table.C4.hash_buckets=50"};
  const auto reference = train(scratch, 1, 0, 2, options);
  const auto reference_rows = checkpoint_rows(reference);
  const auto tables = summary(reference).at("tables");
  // Of the rows that the hashes can name nearly all, and no others.
  EXPECT_LE(tables.at("C3").at("rows"), 600);
  EXPECT_GT(tables.at("C3").at("rows"), 550);
  EXPECT_EQ(tables.at("C4").at("rows"), 150);
  for (const auto& [servers, workers] : {std::pair{2, 0}, {2, 1}, {3, 2}}) {
    SCOPED_TRACE(testing::Message() << servers << " servers, " << workers << " workers");
    const auto run_dir = train(scratch, servers, workers, 2, options);
    EXPECT_EQ(losses(run_dir), losses(reference));
    EXPECT_EQ(checkpoint_rows(run_dir), reference_rows);
    EXPECT_EQ(summary(run_dir).at("evaluation"), summary(reference).at("evaluation"));
  }
}

TEST(Sync, OneAndTwoTrainersAgreeOnTheSameGlobalBatch) {
  const Scratch scratch;
  make_data(scratch, 5'000, 1'000);
  const auto one = losses(train(scratch, 1, 0, 1));
  const auto two = losses(train(scratch, 1, 0, 2));
  ASSERT_EQ(one.size(), two.size());
  for (const auto& [step, loss] : one) EXPECT_NEAR(loss, two.at(step), 1e-5) << "step " << step;
}

TEST(Hybrid, WithoutStalenessAndOneTrainerIsSync) {
  const Scratch scratch;
  make_data(scratch, 5'000, 1'000);
  const auto sync = losses(train(scratch, 2, 0, 1));
  const auto hybrid =
      losses(train(scratch, 1, 1, 1, {"--train.mode=hybrid", "--train.staleness=1"}));
  EXPECT_EQ(sync, hybrid);
}

}  // namespace
}  // namespace satrap::test
