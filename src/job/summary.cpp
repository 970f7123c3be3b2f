#include "job/summary.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "job/json.hpp"
#include "job/table_report.hpp"
#include "job/text.hpp"

namespace satrap::job {

namespace {

using nlohmann::json;

std::string evaluation_lines(const metrics::Evaluation& evaluation) {
  return line("AUC", number(evaluation.auc, 5)) +
         line("log loss", fmt::format("{:.5f} (normalized entropy {})", evaluation.log_loss,
                                      number(evaluation.normalized_entropy, 4))) +
         line("calibration", fmt::format("{} (base rate {:.4f})", number(evaluation.calibration, 4),
                                         evaluation.base_rate));
}

}  // namespace

double Summary::samples_per_second() const noexcept {
  return training_seconds > 0 ? static_cast<double>(timed_samples) / training_seconds : 0;
}

json to_json(const metrics::Evaluation& evaluation) {
  return {{"samples", evaluation.samples},
          {"base_rate", evaluation.base_rate},
          {"auc", or_null(evaluation.auc)},
          {"log_loss", evaluation.log_loss},
          {"normalized_entropy", or_null(evaluation.normalized_entropy)},
          {"calibration", or_null(evaluation.calibration)}};
}

json to_json(const Summary& summary, const config::Config& config) {
  json tables = json::object();
  for (std::size_t t = 0; t < summary.tables.size(); ++t) {
    tables[config.tables[t].name] = to_json(summary.tables[t]);
  }
  return {{"kind", "summary"},
          {"step", summary.step},
          {"exit_code", static_cast<int>(summary.code)},
          {"total_samples", summary.total_samples},
          {"samples", summary.samples},
          {"seconds", summary.seconds},
          {"start_seconds", summary.start_seconds},
          {"training_seconds", summary.training_seconds},
          {"samples_per_second", summary.samples_per_second()},
          {"last_loss", summary.last_loss},
          {"max_staleness", summary.max_staleness},
          {"skipped_steps", summary.skipped_steps},
          {"bad_rows", summary.bad_rows},
          {"evaluation", summary.evaluation ? to_json(*summary.evaluation) : json()},
          {"tables", std::move(tables)}};
}

std::string to_text(const Summary& summary, const std::filesystem::path& run_dir) {
  std::string text = "\n" + line("steps", grouped(summary.step));
  if (summary.samples > 0) {
    text += line("samples",
                 fmt::format("{} in {} ({}/s while training)", grouped(summary.samples),
                             duration(summary.seconds),
                             grouped(static_cast<std::int64_t>(summary.samples_per_second()))));
  }
  if (summary.evaluation) text += evaluation_lines(*summary.evaluation);
  text += to_text(summary.tables);
  if (summary.skipped_steps > 0) {
    text += line("skipped", fmt::format("{} steps (not finite)", summary.skipped_steps));
  }
  if (summary.bad_rows > 0) text += line("bad rows", fmt::format("{} left out", summary.bad_rows));
  return text + line("files", run_dir.string());
}

}  // namespace satrap::job
