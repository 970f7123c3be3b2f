#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "store/capacity/id_stream.hpp"
#include "store/statistics.hpp"
#include "store/table.hpp"

namespace satrap::store {

struct CapacityOptions {
  CapacityOptions();

  /// Its capacity_bytes are the memory to fill.
  config::TableConfig table;
  std::int64_t ids = 1'000'000'000'000;  ///< Of the id space.
  double zipf_exponent = 1.05;           ///< P(id of rank r) ~ r^-exponent.
  std::int64_t batch = 4096;             ///< Ids drawn per step, duplicates included.
  double seconds = 2;                    ///< That a stage is measured for, at most.
  std::uint64_t seed = 1;
};

/// What some steps did and how long it took.
struct CapacityMeasurement {
  std::int64_t rows = 0;  ///< Looked up and updated: distinct ids, summed over batches.
  std::int64_t hits = 0;
  std::int64_t evicted = 0;
  double lookup_seconds = 0;  ///< Processor time of the calls alone.
  double update_seconds = 0;

  double hit_rate() const noexcept { return ratio(static_cast<double>(hits)); }
  double lookups_per_second() const noexcept { return 1 / ratio(lookup_seconds); }
  double updates_per_second() const noexcept { return 1 / ratio(update_seconds); }
  /// Rows looked up and updated.
  double rows_per_second() const noexcept { return 1 / ratio(lookup_seconds + update_seconds); }

  CapacityMeasurement& operator+=(const CapacityMeasurement& other) noexcept;

 private:
  double ratio(double value) const noexcept { return value / static_cast<double>(rows); }
};

/// Trains a table of limited memory on a Zipf stream over a large id space. In each step the
/// distinct ids of a batch are looked up and then get gradients. Not thread-safe.
class CapacityRun {
 public:
  /// Called after each step of a fill.
  using Progress = std::function<void()>;

  /// Throws ConfigError for options that make no sense or cannot be met here.
  explicit CapacityRun(const CapacityOptions& options);

  /// Trains until the table has `rows` rows, at most its capacity. For speed half of each batch
  /// are ids that have not come before, the rarest of the law.
  void fill(std::int64_t rows, const Progress& progress);

  /// Trains on one batch of the Zipf stream.
  CapacityMeasurement step();
  /// Trains on the Zipf stream for the options' seconds, or until the next batch might bring the
  /// table above `most_rows`; one batch at least.
  CapacityMeasurement measure(std::int64_t most_rows);

  const Table& table() const noexcept { return table_; }
  std::int64_t capacity() const noexcept { return table_.statistics().capacity; }

 private:
  CapacityMeasurement train(std::span<const FeatureId> ids);

  CapacityOptions options_;
  Table table_;
  IdStream stream_;
  std::int64_t rare_end_;  ///< Ranks from here on have been used by fill.
  Step step_ = 0;
  std::vector<float> weights_;    ///< [batch, dim]
  std::vector<float> gradients_;  ///< [batch, dim], random, the same for every batch
};

/// A row of the report of run_capacity.
struct CapacityStage {
  std::string name;  ///< "25 %" ... "100 %", "evicting"
  CapacityMeasurement measured;
  TableStatistics table;  ///< At the end of the stage.
};

/// Fills a table to 25, 50, 75 and 100 %, measuring the last 5 % of the way to each, and then while
/// it evicts. Calls on_stage after each.
void run_capacity(CapacityRun& run, const std::function<void(const CapacityStage&)>& on_stage,
                  const CapacityRun::Progress& progress);

/// The five sizes of model that PERSIA reports (arXiv 2111.05897), in parameters: ids times dim.
inline constexpr std::int64_t kSweepParameters[] = {6'250'000'000'000, 12'500'000'000'000,
                                                    25'000'000'000'000, 50'000'000'000'000,
                                                    100'000'000'000'000};

/// The options for an id space of so many parameters.
CapacityOptions with_parameters(CapacityOptions options, std::int64_t parameters);

}  // namespace satrap::store
