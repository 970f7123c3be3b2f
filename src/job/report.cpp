#include "job/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "config/config.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "job/json.hpp"
#include "job/table_report.hpp"
#include "job/text.hpp"

namespace satrap::job {

namespace {

// The first samples of an interval, up to this many, give the training AUC of its progress line.
constexpr std::size_t kScored = 1 << 16;
constexpr int kLinesPerHeading = 25;
/// The share of dropped gradients from which on a capacity is too small to pass over in silence.
constexpr double kManyEvicted = 0.1;

std::string heading(const config::Config& config) {
  return fmt::format(
      "{} over {} tables; {} mode, {} in-flight batches, {} samples per step; {} servers, "
      "{} workers, {} trainers",
      config::name_of(config.model.kind), config.tables.size(), config::name_of(config.train.mode),
      config.train.staleness, config.train.global_batch, config.roles.servers, config.roles.workers,
      config.roles.trainers);
}

}  // namespace

Report::Report(const config::Config& config, const RunDirectory& directory, const Start& start,
               bool evaluate_only)
    : config_(config),
      directory_(directory),
      summary_path_(evaluate_only ? directory.evaluation() : directory.summary()),
      log_(directory.metrics(), evaluate_only ? std::nullopt : std::optional(start.step)) {
  say(heading(config));
  if (start.checkpoint) {
    say(fmt::format("{} step {} from {}", evaluate_only ? "evaluating" : "going on after",
                    start.step, start.checkpoint->string()));
  }
}

double Report::share_done(const trainer::StepReport& step) const {
  // At the start of an epoch the fraction still is that of the end of the last one.
  const double within = step.next.sample == 0 ? 0.0 : step.fraction;
  double done =
      (static_cast<double>(step.next.epoch) + within) / static_cast<double>(config_.train.epochs);
  if (config_.train.steps > 0) {
    done =
        std::max(done, static_cast<double>(step.step) / static_cast<double>(config_.train.steps));
  }
  return std::min(done, 1.0);
}

void Report::on_step(const trainer::StepReport& step) {
  const bool first = !share_at_start_;
  if (first) share_at_start_ = share_done(step);
  interval_.steps += 1;
  interval_.samples += step.samples;
  interval_.loss += step.loss * static_cast<double>(step.samples);
  interval_.staleness += step.staleness;
  for (std::size_t i = 0; i < step.logits.size() && interval_.scored.size() < kScored; ++i) {
    interval_.scored.push_back({step.logits[i], step.labels[i]});
  }
  summary_.samples += step.samples;
  summary_.skipped_steps += step.skipped ? 1 : 0;
  summary_.bad_rows = step.bad_rows;
  summary_.last_loss = step.loss;
  log_.write({{"kind", "step"},
              {"step", step.step},
              {"epoch", step.next.epoch},
              {"next_sample", step.next.sample},
              {"samples", step.samples},
              {"total_samples", step.total_samples},
              {"loss", step.loss},
              {"skipped", step.skipped},
              {"staleness", step.staleness},
              {"bad_rows", step.bad_rows}});
  if (!step.tables.empty()) note_tables(step);
  if (first) {
    // It had to wait for data, memory and the other ranks, and tells nothing of the speed.
    interval_ = {};
    last_line_ = Clock::now();
    summary_.start_seconds = std::chrono::duration<double>(last_line_ - started_).count();
  } else {
    summary_.timed_samples += step.samples;
  }
  const std::chrono::duration<double> since = Clock::now() - last_line_;
  if (since.count() >= config_.job.progress_interval) progress(step);
}

void Report::note_tables(const trainer::StepReport& step) {
  warn_of_evicted_rows(step);
  const auto now = sum_of(step.tables);
  const auto before = sum_of(tables_);
  store::TableStatistics since = now;
  since.hits -= before.hits;
  since.inserted -= before.inserted;
  since.not_admitted -= before.not_admitted;
  tables_.assign(step.tables.begin(), step.tables.end());
  hit_rate_ = hit_rate(since);
  nlohmann::json tables = nlohmann::json::object();
  for (std::size_t t = 0; t < step.tables.size(); ++t) {
    tables[config_.tables[t].name] = to_json(step.tables[t]);
  }
  log_.write({{"kind", "tables"}, {"step", step.step}, {"tables", std::move(tables)}});
}

void Report::warn_of_evicted_rows(const trainer::StepReport& step) {
  for (std::size_t t = 0; t < step.tables.size() && !warned_; ++t) {
    const double share =
        evicted_share(tables_.empty() ? store::TableStatistics() : tables_[t], step.tables[t]);
    if (share <= kManyEvicted) continue;
    const std::string& name = config_.tables[t].name;
    spdlog::warn(
        "by step {}, {:.0f}% of the latest gradients of table {} found their rows evicted and were "
        "dropped; raise table.{}.capacity or lower train.staleness",
        step.step, 100 * share, name, name);
    warned_ = true;
  }
}

std::string Report::tables_text() const {
  if (tables_.empty()) return fmt::format("{:>12}  {:>6}", "?", "?");
  const auto sum = sum_of(tables_);
  std::string text =
      fmt::format("{:>12}  {:>6}", grouped(sum.rows),
                  hit_rate_ ? fmt::format("{:.1f}", 100 * *hit_rate_) : std::string("?"));
  if (sum.evicted > 0) text += fmt::format("  {} evicted", grouped(sum.evicted));
  return text;
}

void Report::progress(const trainer::StepReport& step) {
  const auto now = Clock::now();
  const double rate = static_cast<double>(interval_.samples) /
                      std::chrono::duration<double>(now - last_line_).count();
  const double loss =
      interval_.loss / static_cast<double>(std::max<std::int64_t>(1, interval_.samples));
  const double staleness = interval_.staleness / static_cast<double>(interval_.steps);
  const auto auc = metrics::evaluate(interval_.scored).auc;
  const double done = share_done(step);
  const double advanced = done - *share_at_start_;
  const double elapsed = std::chrono::duration<double>(now - started_).count();
  const std::string left = advanced > 0 ? duration(elapsed * (1 - done) / advanced) : "?";

  if (lines_++ % kLinesPerHeading == 0) {
    say("      step   epoch    done    samples/s      loss       AUC   stale      left          "
        "rows   hit %");
  }
  say(fmt::format("{:>10}  {:>6}  {:>5.1f}%  {:>11}  {:>8.5f}  {:>8}  {:>6.2f}  {:>8}  {}",
                  step.step, std::min(step.next.epoch + 1, config_.train.epochs), 100 * done,
                  grouped(static_cast<std::int64_t>(rate)), loss, number(auc, 5), staleness, left,
                  tables_text()));
  log_.write({{"kind", "progress"},
              {"step", step.step},
              {"share_done", done},
              {"seconds", elapsed},
              {"samples_per_second", rate},
              {"mean_loss", loss},
              {"training_auc", or_null(auc)},
              {"mean_staleness", staleness}});
  log_.flush();
  spdlog::info("step {}: {:.1f}% done, {:.0f} samples/s, loss {:.5f}", step.step, 100 * done, rate,
               loss);
  last_line_ = now;
  interval_ = {};
}

void Report::pause(double seconds) {
  paused_seconds_ += seconds;
  last_line_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void Report::on_evaluation(Step step, const metrics::Evaluation& evaluation, double seconds) {
  summary_.evaluation = evaluation;
  pause(seconds);
  say(
      fmt::format("evaluation after step {}: AUC {}, log loss {:.5f}, normalized entropy {}, "
                  "calibration {}, base rate {:.4f}, {} samples, {:.1f} s",
                  step, number(evaluation.auc, 5), evaluation.log_loss,
                  number(evaluation.normalized_entropy, 4), number(evaluation.calibration, 4),
                  evaluation.base_rate, grouped(evaluation.samples), seconds));
  nlohmann::json line = to_json(evaluation);
  line["kind"] = "evaluation";
  line["step"] = step;
  line["seconds"] = seconds;
  log_.write(line);
  log_.flush();
}

void Report::on_checkpoint(Step step, const std::filesystem::path& path, double seconds) {
  pause(seconds);
  spdlog::info("checkpoint of step {} written to {} in {:.2f} s", step, path.string(), seconds);
  log_.write({{"kind", "checkpoint"}, {"step", step}, {"seconds", seconds}});
  log_.flush();
}

void Report::finish(const trainer::Trainer& trainer, ExitCode code) {
  summary_.step = trainer.step();
  summary_.total_samples = trainer.samples();
  summary_.code = code;
  summary_.seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  summary_.training_seconds = summary_.seconds - summary_.start_seconds - paused_seconds_;
  summary_.max_staleness = trainer.max_staleness();
  summary_.tables = trainer.tables();
  const nlohmann::json json = to_json(summary_, config_);
  log_.write(json);
  log_.flush();
  write_file_atomically(summary_path_, json.dump(2) + "\n");
  if (summary_path_ == directory_.summary() && summary_.samples == 0) {
    say("nothing was left to train: train.epochs or train.steps were done before");
  }
  say(to_text(summary_, directory_.root()));
}

}  // namespace satrap::job
