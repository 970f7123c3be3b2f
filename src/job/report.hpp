#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/error.hpp"
#include "job/metrics_log.hpp"
#include "job/run_directory.hpp"
#include "job/summary.hpp"
#include "metrics/evaluation.hpp"
#include "store/statistics.hpp"
#include "trainer/observer.hpp"
#include "trainer/trainer.hpp"

namespace satrap::job {

/// What a person and a program get to see of a run: progress lines on stdout, metrics.jsonl, and at
/// the end the summary on stdout and in summary.json. Lives on trainer 0's compute thread.
class Report final : public trainer::Observer {
 public:
  /// An evaluation alone adds its lines to metrics.jsonl and takes none away, and its summary goes
  /// to evaluation.json: what training left stays as it is.
  Report(const config::Config& config, const RunDirectory& directory, const Start& start,
         bool evaluate_only);

  void on_step(const trainer::StepReport& step) override;
  void on_evaluation(Step step, const metrics::Evaluation& evaluation, double seconds) override;
  void on_checkpoint(Step step, const std::filesystem::path& path, double seconds) override;

  /// After the servers have stopped.
  void finish(const trainer::Trainer& trainer, ExitCode code);

 private:
  using Clock = std::chrono::steady_clock;

  /// What has come since the last progress line.
  struct Interval {
    std::int64_t steps = 0;
    std::int64_t samples = 0;
    double loss = 0;                      ///< Sum over the samples.
    double staleness = 0;                 ///< Sum over the steps.
    std::vector<metrics::Scored> scored;  ///< Of trainer 0, before they were trained on.
  };

  /// Takes in news of the tables and writes them to metrics.jsonl.
  void note_tables(const trainer::StepReport& step);
  /// Says once which table's capacity is too small for what is in flight.
  void warn_of_evicted_rows(const trainer::StepReport& step);
  /// Rows, hit rate and evictions by the last news, for a progress line.
  std::string tables_text() const;
  double share_done(const trainer::StepReport& step) const;
  void progress(const trainer::StepReport& step);
  /// `seconds` that were not training: they count neither for the rates nor for the next line.
  void pause(double seconds);

  const config::Config& config_;
  RunDirectory directory_;
  std::filesystem::path summary_path_;
  MetricsLog log_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point last_line_ = started_;
  double paused_seconds_ = 0;
  std::optional<double> share_at_start_;
  std::int64_t lines_ = 0;
  Interval interval_;
  std::vector<store::TableStatistics> tables_;  ///< By the last news; empty: there was none.
  std::optional<double> hit_rate_;              ///< Between the last news and those before.
  bool warned_ = false;                         ///< Of evicted rows: once is enough.
  Summary summary_;
};

}  // namespace satrap::job
