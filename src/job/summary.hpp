#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/error.hpp"
#include "core/types.hpp"
#include "metrics/evaluation.hpp"
#include "store/table.hpp"

namespace satrap::job {

/// The result of a run: what stands at the end of the output, and in summary.json.
struct Summary {
  Step step = 0;
  ExitCode code = ExitCode::done;
  std::int64_t total_samples = 0;  ///< Since the first step of the run.
  std::int64_t samples = 0;        ///< Of this process, as all below.
  double seconds = 0;
  double start_seconds = 0;        ///< Until the first step was done, which waits for all else.
  double training_seconds = 0;     ///< Behind that, without evaluations and checkpoints.
  std::int64_t timed_samples = 0;  ///< Of training_seconds.
  double last_loss = 0;
  double max_staleness = 0;
  std::int64_t skipped_steps = 0;
  std::int64_t bad_rows = 0;
  std::vector<store::TableStatistics> tables;  ///< Over all servers, in the order of the config.
  std::optional<metrics::Evaluation> evaluation;

  double samples_per_second() const noexcept;  ///< 0 if there was but one step.
};

nlohmann::json to_json(const metrics::Evaluation& evaluation);
nlohmann::json to_json(const Summary& summary, const config::Config& config);
/// Several lines for a person; `run_dir` is where the files are.
std::string to_text(const Summary& summary, const std::filesystem::path& run_dir);

}  // namespace satrap::job
