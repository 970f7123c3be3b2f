#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "config/config.hpp"
#include "core/error.hpp"
#include "job/metrics_log.hpp"
#include "job/run_directory.hpp"
#include "metrics/evaluation.hpp"
#include "store/table.hpp"
#include "trainer/observer.hpp"
#include "trainer/trainer.hpp"

namespace satrap::job {

/// What a person and a program get to see of a run: progress lines on stdout, metrics.jsonl, and at
/// the end a summary on stdout and in summary.json. Lives on trainer 0's compute thread.
class Report final : public trainer::Observer {
 public:
  Report(const config::Config& config, const RunDirectory& directory, const Start& start);

  void on_step(const trainer::StepReport& step) override;
  void on_evaluation(Step step, const metrics::Evaluation& evaluation, double seconds) override;
  void on_checkpoint(Step step, const std::filesystem::path& path, double seconds) override;

  /// After the servers have stopped.
  void finish(const trainer::Trainer& trainer, ExitCode code);

 private:
  using Clock = std::chrono::steady_clock;

  double share_done(const trainer::StepReport& step) const;
  void progress(const trainer::StepReport& step);

  const config::Config& config_;
  RunDirectory directory_;
  MetricsLog log_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point last_line_ = started_;
  std::optional<double> share_at_start_;
  std::int64_t lines_ = 0;

  // Since the last progress line.
  std::int64_t interval_samples_ = 0;
  std::int64_t interval_steps_ = 0;
  double interval_loss_ = 0;  ///< Sum over samples.
  std::vector<metrics::Scored> interval_scored_;
  double interval_staleness_ = 0;

  // Since the start of this process.
  std::int64_t samples_ = 0;
  std::int64_t skipped_steps_ = 0;
  double training_seconds_ = 0;  ///< Without evaluations and checkpoints.
  double other_seconds_ = 0;
  std::int64_t bad_rows_ = 0;
  double last_loss_ = 0;
  std::int64_t total_samples_ = 0;
  std::optional<metrics::Evaluation> evaluation_;
};

}  // namespace satrap::job
