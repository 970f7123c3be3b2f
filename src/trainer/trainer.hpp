#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "comm/collective/collectives.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "core/types.hpp"
#include "data/batch.hpp"
#include "store/table.hpp"
#include "trainer/observer.hpp"
#include "trainer/train_step.hpp"
#include "worker/mailbox.hpp"

namespace satrap::trainer {

struct TrainerOptions {
  TrainerId id{0};
  /// This rank's landing zone: slots of `slot_bytes` for the rows of in-flight batches.
  std::span<const std::byte> landing;
  std::int64_t slot_bytes = 0;
  /// The checkpoint to go on from, if any.
  std::optional<std::filesystem::path> resume;
  std::filesystem::path checkpoints;
  bool has_valid = false;      ///< Whether there is evaluation data.
  bool evaluate_only = false;  ///< Train nothing, save nothing.
};

/// The trainer's loop: takes batches as the pipeline hands them over, trains, and lets all trainers
/// together evaluate, save and stop when it is due. Runs in the compute thread of a trainer's
/// process; every trainer runs it with the same config.
class Trainer {
 public:
  Trainer(const config::Config& config, comm::Collectives& collectives, worker::Mailbox& mailbox,
          TrainerOptions options, Observer& observer);

  /// Returns when the servers have been told to stop: done, stopped (by a signal, after saving) or
  /// numerical.
  ExitCode run();

  /// What the servers said at the end: statistics of each table, summed over the servers.
  const std::vector<store::TableStatistics>& tables() const noexcept { return tables_; }
  Step step() const noexcept { return state_.step; }
  /// Of all trainers, since the first step of the run.
  std::int64_t samples() const noexcept { return state_.samples; }
  double max_staleness() const noexcept { return max_staleness_; }

 private:
  ExitCode train();
  ExitCode after_step(const StepResult& result);
  void check_bad_rows(std::int64_t total);
  worker::ReadyBatch next();
  const float* rows_of(const worker::ReadyBatch& batch) const;
  StepResult step(const worker::ReadyBatch& batch);
  void at_barrier(bool end);
  void evaluate();
  void save();
  std::vector<store::TableStatistics> command(worker::Command::Kind kind,
                                              ExitCode code = ExitCode::done);
  bool first() const noexcept { return raw(options_.id) == 0; }

  const config::Config& config_;
  comm::Collectives& collectives_;
  worker::Mailbox& mailbox_;
  TrainerOptions options_;
  Observer& observer_;
  TrainStep compute_;
  checkpoint::DenseState state_;
  std::vector<store::TableStatistics> tables_;
  std::int64_t nonfinite_in_a_row_ = 0;
  std::int64_t epoch_ = -1;
  std::int64_t bad_rows_ = 0;         ///< Of all trainers, so far,
  std::int64_t bad_rows_before_ = 0;  ///< and before this epoch.
  Step evaluated_ = -1;               ///< The step of the last evaluation,
  Step saved_ = -1;                   ///< and of the last checkpoint.
  double max_staleness_ = 0;
};

}  // namespace satrap::trainer
