// What the modes promise about staleness, overlap and gradients, against a server that is made
// slow.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <thread>
#include <vector>

#include "comm/mpi/communicator.hpp"
#include "comm/ring/fabric.hpp"
#include "config/config.hpp"
#include "core/random.hpp"
#include "data/dedup.hpp"
#include "data/reader.hpp"
#include "data/synthetic.hpp"
#include "server/server.hpp"
#include "worker/mailbox.hpp"
#include "worker/pipeline.hpp"

namespace satrap {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSamples = 640;
constexpr std::int64_t kBatch = 32;
constexpr std::int64_t kSteps = kSamples / kBatch;
constexpr std::int64_t kSlotBytes = 1 << 20;

std::string data_path() {
  return (std::filesystem::temp_directory_path() / "satrap-staleness.tsv").string();
}

config::Config make_config(int staleness) {
  std::vector<config::Setting> settings;
  const auto set = [&](const char* key, const std::string& value) {
    settings.push_back({key, value, "test"});
  };
  set("data.train", data_path());
  set("data.shuffle", "false");
  set("train.mode", "hybrid");
  set("train.global_batch", std::to_string(kBatch));
  set("train.staleness", std::to_string(staleness));
  set("job.progress_interval", "0.01");
  set("table.*.dim", "4");
  set("table.*.optimizer", "sgd");
  set("table.*.lr", "1");
  config::Config config = config::resolve(settings);
  config.roles.trainers = 1;
  return config;
}

/// Rank 0 serves, `delay` late with the first lookup of each step; returns the tables.
std::vector<store::Table> serve(const config::Config& config, comm::Fabric& fabric,
                                std::chrono::milliseconds delay) {
  std::vector<store::Table> tables;
  for (std::uint32_t t = 0; t < config.tables.size(); ++t) {
    tables.emplace_back(TableId{t}, config.tables[t], config.job.seed);
  }
  server::ServerOptions options;
  options.requesters = {WorldRank{1}};
  options.before_lookup = [&](const comm::MessageHeader& header) {
    if (header.table == 0) std::this_thread::sleep_for(delay);
  };
  EXPECT_EQ(server::Server(config, fabric, tables, std::move(options)).run(), ExitCode::done);
  return tables;
}

struct Observed {
  std::vector<std::int64_t> staleness;
  std::vector<std::vector<store::TableStatistics>> statistics;  ///< Those that came with batches.
  double seconds = 0;
};

/// Rank 1 "computes" each step by waiting for `compute`; every gradient is 1.
Observed train(const config::Config& config, comm::Fabric& fabric,
               std::chrono::milliseconds compute) {
  worker::Mailbox mailbox(static_cast<std::size_t>(worker::in_flight_limit(config)));
  worker::MailboxPort port(mailbox);
  worker::Pipeline::Options options;
  options.trainers = {{TrainerId{0}, WorldRank{1}, &port}};
  options.servers = {WorldRank{0}};
  options.train_files = {data_path()};
  options.slot_bytes = kSlotBytes;
  worker::Pipeline pipeline(config, fabric, RowPlacement(4096, 1), std::move(options), [] {});

  Observed observed;
  std::jthread trainer([&] {
    const auto start = Clock::now();
    const auto dims = worker::table_dims(config);
    while (const auto batch = mailbox.ready.pop()) {
      if (batch->kind == worker::ReadyBatch::Kind::train_end) break;
      observed.staleness.push_back(batch->staleness);
      if (!batch->statistics.empty()) observed.statistics.push_back(batch->statistics);
      std::this_thread::sleep_for(compute);
      const comm::RowLayout layout(batch->unique, dims);
      mailbox.from_trainer.push(worker::Finished{
          batch->step, std::vector<float>(static_cast<std::size_t>(layout.floats), 1.0f)});
    }
    observed.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    mailbox.from_trainer.push(worker::Command{worker::Command::Kind::stop, kSteps});
  });
  while (!pipeline.stopped()) {
    fabric.progress();
    pipeline.turn();
    fabric.publish();
    std::this_thread::sleep_for(20us);
  }
  return observed;
}

/// In how many batches each id of each table occurs: how often its gradient of 1 is applied.
std::vector<std::map<FeatureId, int>> expected_updates(const config::Config& config) {
  std::vector<std::map<FeatureId, int>> updates(config.tables.size());
  data::SampleReader reader(config, {data_path()}, data::SampleReader::Order::sequential);
  data::Deduplicator deduplicator(config, RowPlacement(4096, 1));
  while (const std::int64_t n = reader.next_step(kBatch)) {
    data::SampleBatch samples;
    reader.parse(0, n, samples);
    data::IdBatch batch;
    deduplicator.run(std::move(samples), batch);
    for (std::size_t t = 0; t < updates.size(); ++t) {
      for (const FeatureId id : batch.tables[t].unique) ++updates[t][id];
    }
  }
  return updates;
}

void expect_each_gradient_applied_once(const config::Config& config,
                                       std::vector<store::Table>& tables) {
  const auto updates = expected_updates(config);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    std::int64_t applied = 0;
    for (const auto& [id, count] : updates[t]) {
      std::vector<float> row(4), initial(4);
      tables[t].peek({&id, 1}, row.data());
      initial_row(config.job.seed, TableId{static_cast<std::uint32_t>(t)}, id,
                  static_cast<float>(config.tables[t].init_range), initial);
      for (int i = 0; i < 4; ++i) {
        float expected = initial[static_cast<std::size_t>(i)];
        for (int k = 0; k < count; ++k) expected -= 1.0f;
        ASSERT_EQ(row[static_cast<std::size_t>(i)], expected) << "table " << t << " id " << raw(id);
      }
      applied += count;
    }
    EXPECT_EQ(tables[t].statistics().gradients_applied, applied);
    EXPECT_EQ(tables[t].statistics().gradients_dropped, 0);
    EXPECT_EQ(tables[t].size(), static_cast<std::int64_t>(updates[t].size()));
  }
}

class Staleness : public testing::Test {
 protected:
  Staleness() : world_(comm::Communicator::world()) {
    if (world_.rank() == 0) {
      data::SyntheticOptions options;
      options.train_path = data_path();
      options.valid_path = data_path() + ".valid";
      options.train_samples = kSamples;
      options.valid_samples = 1;
      options.teacher.vocabulary = 500;
      data::make_synthetic_data(options);
    }
    world_.barrier();
  }

  /// Runs all steps; on rank 1 returns what the trainer saw.
  Observed run(int staleness, std::chrono::milliseconds lookup, std::chrono::milliseconds compute) {
    const auto config = make_config(staleness);
    comm::Fabric fabric(
        world_, {{WorldRank{0}, WorldRank{1}, 1 << 16}, {WorldRank{1}, WorldRank{0}, 1 << 16}},
        kSlotBytes * staleness);
    if (world_.rank() == 0) {
      auto tables = serve(config, fabric, lookup);
      expect_each_gradient_applied_once(config, tables);
      return {};
    }
    const Observed observed = train(config, fabric, compute);
    EXPECT_EQ(observed.staleness.size(), static_cast<std::size_t>(kSteps));
    return observed;
  }

  comm::Communicator world_;
};

TEST_F(Staleness, OfOneSeesEveryOwnGradient) {
  const Observed observed = run(1, 2ms, 0ms);
  for (const auto staleness : observed.staleness) EXPECT_EQ(staleness, 0);
}

TEST_F(Staleness, NeverExceedsItsBoundAndReachesItWithASlowServer) {
  const Observed observed = run(3, 10ms, 0ms);
  if (world_.rank() == 0) return;
  std::int64_t most = 0;
  for (const auto staleness : observed.staleness) most = std::max(most, staleness);
  EXPECT_EQ(most, 2) << "3 in-flight batches: a lookup misses at most the 2 before it";
}

TEST_F(Staleness, StatisticsComeAlongWithBatches) {
  const Observed observed = run(3, 5ms, 1ms);
  if (world_.rank() == 0) return;
  ASSERT_GE(observed.statistics.size(), 2U) << "asked for every 10 ms, in 100 ms or more";
  EXPECT_LT(observed.statistics.size(), observed.staleness.size());
  std::int64_t before = 0;
  for (const auto& tables : observed.statistics) {
    ASSERT_EQ(tables.size(), 26U);
    // A table has looked up whole batches of as many ids as it has rows, or more.
    EXPECT_EQ(tables[0].rows, tables[0].inserted);
    EXPECT_GE(tables[0].hits + tables[0].inserted, before);
    EXPECT_GT(tables[0].bytes(), 0);
    before = tables[0].hits + tables[0].inserted;
  }
  EXPECT_GT(before, observed.statistics.front()[0].hits + observed.statistics.front()[0].inserted);
}

TEST_F(Staleness, OverlapsSlowLookupsWithComputation) {
  // Each step takes 20 ms to look up and 20 ms to compute. One after the other that is 40 ms per
  // step, overlapped 20 ms.
  const Observed alone = run(1, 20ms, 20ms);
  const Observed overlapped = run(4, 20ms, 20ms);
  if (world_.rank() == 0) return;
  EXPECT_GE(alone.seconds, 0.040 * kSteps);
  EXPECT_LE(overlapped.seconds, 0.75 * alone.seconds);
}

}  // namespace
}  // namespace satrap
