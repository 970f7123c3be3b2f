// What the tables hold and do is told while a run trains, and changes nothing of it.

#include <gtest/gtest.h>

#include "support/training.hpp"

namespace satrap::test {
namespace {

/// Trains the small config for some epochs, with a table that counts appearances; returns the run
/// directory and what was printed. One trainer: with more, who comes first may decide over a row.
std::pair<std::filesystem::path, std::string> train(const Scratch& scratch, int servers,
                                                    int workers, const std::string& interval) {
  const auto run_dir = scratch / (std::to_string(workers) + "-" + interval);
  const Ended ended = run(
      mpirun(servers + workers + 1,
             {"train", small_config(scratch), "--job.run_dir=" + run_dir.string(),
              "--train.mode=sync", "--train.epochs=4", "--roles.servers=" + std::to_string(servers),
              "--roles.workers=" + std::to_string(workers), "--job.progress_interval=" + interval,
              "--table.C1.admit_after=2"}));
  EXPECT_EQ(ended.code, 0) << ended.output;
  return {run_dir, ended.output};
}

std::int64_t lookups(const nlohmann::json& table) {
  return table.at("hits").get<std::int64_t>() + table.at("inserted").get<std::int64_t>() +
         table.at("not_admitted").get<std::int64_t>();
}

/// The lines of one run agree with each other and with its summary.
void check_lines(const std::filesystem::path& run_dir) {
  const auto lines = metrics(run_dir, "tables");
  ASSERT_FALSE(lines.empty());
  const auto last = summary(run_dir).at("tables");
  std::int64_t step = 0;
  nlohmann::json before;
  for (const auto& line : lines) {
    EXPECT_GT(line.at("step"), step);
    step = line.at("step");
    const auto& tables = line.at("tables");
    ASSERT_EQ(tables.size(), 26U);
    for (const auto& [name, table] : tables.items()) {
      EXPECT_EQ(table.at("rows"), table.at("inserted")) << name;
      EXPECT_GE(lookups(table), before.is_null() ? 1 : lookups(before.at(name))) << name;
      EXPECT_LE(lookups(table), lookups(last.at(name))) << name;
      EXPECT_EQ(table.at("bytes"), table.at("row_bytes").get<std::int64_t>() +
                                       table.at("index_bytes").get<std::int64_t>() +
                                       table.at("admission_bytes").get<std::int64_t>() +
                                       table.at("other_bytes").get<std::int64_t>())
          << name;
      EXPECT_GE(table.at("mean_probe"), 1.0) << name;
      EXPECT_EQ(table.at("load") > 0.0, table.at("rows") > 0) << name;
      EXPECT_LE(table.at("load"), 1.0) << name;
    }
    before = tables;
  }
  EXPECT_GT(last.at("C1").at("not_admitted"), 0);
  EXPECT_GT(last.at("C1").at("admission_bytes"), 0);
  EXPECT_EQ(last.at("C2").at("not_admitted"), 0);
  EXPECT_EQ(last.at("C2").at("gradients_dropped"), 0);
  EXPECT_EQ(last.at("C1").at("gradients_dropped"), last.at("C1").at("not_admitted"));
}

TEST(Statistics, AreToldWithAndWithoutWorkersAndChangeNothing) {
  const Scratch scratch;
  make_data(scratch, 20'000, 1'000);
  const auto [quiet, quiet_output] = train(scratch, 2, 0, "1000");
  EXPECT_TRUE(metrics(quiet, "tables").empty());
  for (const int workers : {0, 1}) {
    SCOPED_TRACE(testing::Message() << workers << " workers");
    const auto [run_dir, output] = train(scratch, 2, workers, "0.02");
    check_lines(run_dir);
    EXPECT_EQ(losses(run_dir), losses(quiet));
    EXPECT_EQ(summary(run_dir).at("tables").at("C2"), summary(quiet).at("tables").at("C2"));
    EXPECT_NE(output.find("rows   hit %"), std::string::npos) << output;
    EXPECT_NE(output.find("not admitted"), std::string::npos) << output;
  }
}

/// Rows that are evicted while their gradients are on the way make training worse, silently so
/// without this.
TEST(Statistics, ACapacityTooSmallForWhatIsInFlightIsToldOnce) {
  const Scratch scratch;
  make_data(scratch, 10'000, 100, {"--zipf-exponent", "0"});
  const auto warnings = [&](const std::string& name, const std::string& capacity) {
    const Ended ended = run(mpirun(
        2, {"train", small_config(scratch), "--train.staleness=8", "--job.progress_interval=0.1",
            "--train.epochs=3", "--job.run_dir=" + (scratch / name).string(),
            "--table.*.capacity=" + capacity}));
    EXPECT_EQ(ended.code, 0) << ended.output;
    const std::string words = "found their rows evicted";
    int count = 0;
    for (auto at = ended.output.find(words); at != ended.output.npos; ++count) {
      at = ended.output.find(words, at + 1);
    }
    return count;
  };
  EXPECT_EQ(warnings("small", "256"), 1);
  EXPECT_EQ(warnings("large", "100000"), 0);
}

}  // namespace
}  // namespace satrap::test
