#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "core/types.hpp"
#include "data/batch.hpp"
#include "metrics/evaluation.hpp"
#include "store/statistics.hpp"

namespace satrap::trainer {

/// What one step did, over all trainers unless said otherwise.
struct StepReport {
  Step step = 0;
  data::Position next;             ///< Where the data goes on.
  std::int64_t samples = 0;        ///< Of this step.
  std::int64_t total_samples = 0;  ///< Since the first step of the run, restarts included.
  double loss = 0;                 ///< Mean over the samples, before the update.
  bool skipped = false;            ///< Not finite: nothing was updated.
  double fraction = 0;             ///< Share of the epoch's data read so far.
  double staleness = 0;            ///< Mean over the trainers.
  std::int64_t bad_rows = 0;       ///< So far.
  /// [tables] News of the tables from some steps before, summed over the servers, or empty; valid
  /// during the call.
  std::span<const store::TableStatistics> tables;
  /// Of this trainer's samples, valid during the call.
  std::span<const float> logits;
  std::span<const float> labels;
};

/// Is told on trainer 0, in its compute thread, how the run goes.
class Observer {
 public:
  virtual ~Observer() = default;

  virtual void on_step(const StepReport&) {}
  virtual void on_evaluation(Step, const metrics::Evaluation&, double /*seconds*/) {}
  virtual void on_checkpoint(Step, const std::filesystem::path&, double /*seconds*/) {}
};

}  // namespace satrap::trainer
