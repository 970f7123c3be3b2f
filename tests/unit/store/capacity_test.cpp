// A small run to the limit of memory: its numbers must agree with each other and with the system.

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "core/error.hpp"
#include "store/capacity/process_memory.hpp"
#include "store/capacity/report.hpp"

namespace satrap::store {
namespace {

/// About 380,000 rows.
CapacityOptions small() {
  CapacityOptions options;
  options.table.capacity_bytes = 40 << 20;
  options.batch = 1024;
  options.seconds = 0.2;
  return options;
}

const CapacityRun::Progress kSilent = [] {};

struct Done {
  std::vector<CapacityStage> stages;
  std::int64_t capacity = 0;
};

Done run(const CapacityOptions& options) {
  CapacityRun run(options);
  Done done;
  done.capacity = run.capacity();
  run_capacity(
      run, [&](const CapacityStage& stage) { done.stages.push_back(stage); }, kSilent);
  return done;
}

TEST(CapacityRun, StagesAreAsFullAsTheySay) {
  const auto [stages, capacity] = run(small());
  ASSERT_EQ(stages.size(), 5U);
  for (std::size_t i = 0; i < 4; ++i) {
    const TableStatistics& s = stages[i].table;
    EXPECT_EQ(stages[i].name, std::to_string(25 * (i + 1)) + " %");
    EXPECT_NEAR(static_cast<double>(s.rows), capacity * 0.25 * (i + 1.0), 1024) << stages[i].name;
    EXPECT_EQ(s.evicted, 0) << stages[i].name;
  }
  EXPECT_EQ(stages[3].table.rows, capacity);
  EXPECT_EQ(stages[4].name, "evicting");
  EXPECT_GT(stages[4].measured.evicted, 0);
  EXPECT_EQ(stages[4].measured.evicted, stages[4].table.evicted);
  EXPECT_GE(stages[4].table.rows, capacity * 31 / 32 - 1024);
}

TEST(CapacityRun, EveryIdIsAccountedFor) {
  for (const CapacityStage& stage : run(small()).stages) {
    const TableStatistics& s = stage.table;
    const CapacityMeasurement& m = stage.measured;
    EXPECT_EQ(s.inserted, s.rows + s.evicted) << stage.name;
    EXPECT_EQ(s.hits + s.inserted, s.gradients_applied) << stage.name;
    EXPECT_EQ(s.gradients_dropped, 0) << stage.name;
    EXPECT_GT(m.hits, 0) << stage.name;
    EXPECT_LT(m.hits, m.rows) << stage.name;
    EXPECT_GT(m.lookups_per_second(), m.rows_per_second()) << stage.name;
    EXPECT_GT(m.updates_per_second(), m.rows_per_second()) << stage.name;
  }
}

TEST(CapacityRun, IdsThatAreNotAdmittedGetNoRowsAndDropTheirGradients) {
  CapacityOptions options = small();
  options.table.admit_after = 3;
  const auto [stages, capacity] = run(options);
  const TableStatistics& full = stages[3].table;
  EXPECT_EQ(full.rows, capacity);
  EXPECT_EQ(full.evicted, 0);
  EXPECT_GT(full.not_admitted, 0);
  EXPECT_EQ(full.gradients_dropped, full.not_admitted);
  EXPECT_GT(full.admission_bytes, 0);
}

TEST(CapacityRun, TheStoreCountsWhatTheSystemSees) {
  const std::int64_t before = process_memory().resident;
  CapacityOptions options = small();
  options.table.capacity_bytes = 100 << 20;
  CapacityRun run(options);
  run.fill(run.capacity(), kSilent);
  const ProcessMemory after = process_memory();
  const std::int64_t counted = run.table().statistics().bytes();
  EXPECT_LE(counted, options.table.capacity_bytes);
  EXPECT_GT(counted, options.table.capacity_bytes * 9 / 10);
  // Gradients and weights of a batch, and the allocator, come on top.
  EXPECT_NEAR(static_cast<double>(after.resident - before), static_cast<double>(counted), 8e6);
  EXPECT_GE(after.peak, after.resident);
}

TEST(CapacityRun, SameOptionsSameRows) {
  const auto rows = [] {
    CapacityRun run(small());
    run.fill(run.capacity() / 2, kSilent);
    const TableStatistics s = run.table().statistics();
    return std::pair(s.rows, s.hits);
  };
  EXPECT_EQ(rows(), rows());
}

TEST(CapacityRun, OptionsThatCannotBeMetAreRefused) {
  const auto refused = [](auto change) {
    CapacityOptions options = small();
    change(options);
    EXPECT_THROW(CapacityRun{options}, ConfigError);
  };
  refused([](auto& o) { o.ids = 0; });
  refused([](auto& o) { o.ids = 500'000; });  // Too few to fill the memory.
  refused([](auto& o) { o.zipf_exponent = -1; });
  refused([](auto& o) { o.batch = 0; });
  refused([](auto& o) { o.batch = 100'000; });
  refused([](auto& o) { o.seconds = 0; });
  refused([](auto& o) { o.table.dim = 0; });
  refused([](auto& o) { o.table.capacity_bytes = 0; });
  refused([](auto& o) { o.table.capacity_bytes = 1000; });
  refused([](auto& o) { o.table.capacity_bytes = std::int64_t{1} << 50; });
  refused([](auto& o) { o.table.eviction = config::Eviction::none; });
  refused([](auto& o) { o.table.admit_after = 0; });
}

TEST(IdStream, BatchesAreDistinctAndRareIdsAreThere) {
  IdStream stream(1'000'000, 1.05, 7);
  const auto first = stream.draw(1000);
  const std::set<FeatureId> drawn(first.begin(), first.end());
  EXPECT_EQ(drawn.size(), first.size());
  EXPECT_LT(first.size(), 1000U);  // The most frequent ids come many times.
  const auto rare = stream.draw(0, 100, 1'000'001);
  EXPECT_EQ(std::set<FeatureId>(rare.begin(), rare.end()).size(), 100U);
  EXPECT_EQ(stream.draw(0, 100, 11).size(), 10U);  // There are no more ranks below 11.
}

TEST(ParseAmount, TakesUnitsAndRefusesWhatIsNoNumber) {
  EXPECT_EQ(parse_amount("--memory", "8G", 1024), std::int64_t{8} << 30);
  EXPECT_EQ(parse_amount("--memory", "1.5K", 1024), 1536);
  EXPECT_EQ(parse_amount("--ids", "1e12", 1000), 1'000'000'000'000);
  EXPECT_EQ(parse_amount("--ids", "12T", 1000), 12'000'000'000'000);
  for (const char* text : {"", "G", "8GB", "-1", "1.5", "nan", "inf", "1e30", "9e18T", "8 G"}) {
    EXPECT_THROW(parse_amount("--ids", text, 1000), ConfigError) << text;
  }
}

TEST(Report, SweepPrintsFivePointsAndTheirRatio) {
  CapacityOptions options = small();
  options.seconds = 0.05;
  std::ostringstream out, progress;
  report_sweep(options, out, progress);
  for (const char* word : {"6.25 T", "12.5 T", "25 T", "50 T", "100 T", "6,250,000,000,000"}) {
    EXPECT_NE(out.str().find(word), std::string::npos) << word << "\n" << out.str();
  }
  const auto colon = out.str().rfind(": ");
  EXPECT_GT(std::stod(out.str().substr(colon + 2)), 0);
}

}  // namespace
}  // namespace satrap::store
