#include "job/report.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "core/file.hpp"
#include "core/log.hpp"

namespace satrap::job {

namespace {

using nlohmann::json;

// Of the newest samples of an interval, this many give the training AUC of its progress line.
constexpr std::size_t kScored = 1 << 16;
constexpr int kLinesPerHeading = 25;

/// 1,234,567
std::string grouped(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  for (auto i = static_cast<std::ptrdiff_t>(digits.size()) - 3; i > (value < 0 ? 1 : 0); i -= 3) {
    digits.insert(static_cast<std::size_t>(i), 1, ',');
  }
  return digits;
}

std::string duration(double seconds) {
  const auto total = static_cast<std::int64_t>(std::max(0.0, seconds) + 0.5);
  if (total >= 3600) {
    return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  }
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

std::string number(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : std::string("undefined");
}

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

json or_null(const std::optional<double>& value) {
  return value ? json(*value) : json();
}

json to_json(const metrics::Evaluation& evaluation) {
  return {{"samples", evaluation.samples},
          {"base_rate", evaluation.base_rate},
          {"auc", or_null(evaluation.auc)},
          {"log_loss", evaluation.log_loss},
          {"normalized_entropy", or_null(evaluation.normalized_entropy)},
          {"calibration", or_null(evaluation.calibration)}};
}

json to_json(const store::TableStatistics& table) {
  return {{"rows", table.rows},
          {"bytes", table.bytes},
          {"hits", table.hits},
          {"inserted", table.inserted},
          {"evicted", table.evicted},
          {"gradients_applied", table.gradients_applied},
          {"gradients_dropped", table.gradients_dropped}};
}

}  // namespace

Report::Report(const config::Config& config, const RunDirectory& directory, const Start& start)
    : config_(config), directory_(directory), log_(directory.metrics(), start.step) {
  if (start.checkpoint) {
    say(fmt::format("going on behind step {} from {}", start.step, start.checkpoint->string()));
  }
}

double Report::share_done(const trainer::StepReport& step) const {
  const double epochs = static_cast<double>(config_.train.epochs);
  double done = (static_cast<double>(step.next.epoch) + step.fraction) / epochs;
  if (step.next.sample == 0) done = static_cast<double>(step.next.epoch) / epochs;
  if (config_.train.steps > 0) {
    done =
        std::max(done, static_cast<double>(step.step) / static_cast<double>(config_.train.steps));
  }
  return std::min(done, 1.0);
}

void Report::on_step(const trainer::StepReport& step) {
  if (!share_at_start_) share_at_start_ = share_done(step);
  interval_samples_ += step.samples;
  interval_steps_ += 1;
  interval_loss_ += step.loss * static_cast<double>(step.samples);
  interval_staleness_ += step.staleness;
  samples_ += step.samples;
  total_samples_ = step.total_samples;
  skipped_steps_ += step.skipped ? 1 : 0;
  bad_rows_ = step.bad_rows;
  last_loss_ = step.loss;
  for (std::size_t i = 0; i < step.logits.size() && interval_scored_.size() < kScored; ++i) {
    interval_scored_.push_back({step.logits[i], step.labels[i]});
  }
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
  const std::chrono::duration<double> since = Clock::now() - last_line_;
  if (since.count() >= config_.job.progress_interval) progress(step);
}

void Report::progress(const trainer::StepReport& step) {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_line_).count();
  const double rate = static_cast<double>(interval_samples_) / seconds;
  const double loss =
      interval_loss_ / static_cast<double>(std::max<std::int64_t>(1, interval_samples_));
  const double staleness = interval_staleness_ / static_cast<double>(interval_steps_);
  const auto auc = metrics::evaluate(interval_scored_).auc;
  const double done = share_done(step);
  const double advanced = done - *share_at_start_;
  const double elapsed = std::chrono::duration<double>(now - started_).count();
  const std::string left = advanced > 0 ? duration(elapsed * (1 - done) / advanced) : "?";

  if (lines_++ % kLinesPerHeading == 0) {
    say("      step   epoch    done    samples/s      loss       AUC   stale      left");
  }
  say(fmt::format("{:>10}  {:>6}  {:>5.1f}%  {:>11}  {:>8.5f}  {:>8}  {:>6.2f}  {:>8}", step.step,
                  std::min(step.next.epoch + 1, config_.train.epochs), 100 * done,
                  grouped(static_cast<std::int64_t>(rate)), loss, number(auc, 5), staleness, left));
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
  interval_samples_ = interval_steps_ = 0;
  interval_loss_ = interval_staleness_ = 0;
  interval_scored_.clear();
}

void Report::on_evaluation(Step step, const metrics::Evaluation& evaluation, double seconds) {
  evaluation_ = evaluation;
  other_seconds_ += seconds;
  last_line_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  say(
      fmt::format("evaluation after step {}: AUC {}, log loss {:.5f}, normalized entropy {}, "
                  "calibration {}, base rate {:.4f}, {} samples, {:.1f} s",
                  step, number(evaluation.auc, 5), evaluation.log_loss,
                  number(evaluation.normalized_entropy, 4), number(evaluation.calibration, 4),
                  evaluation.base_rate, grouped(evaluation.samples), seconds));
  json line = to_json(evaluation);
  line["kind"] = "evaluation";
  line["step"] = step;
  line["seconds"] = seconds;
  log_.write(line);
  log_.flush();
}

void Report::on_checkpoint(Step step, const std::filesystem::path& path, double seconds) {
  other_seconds_ += seconds;
  last_line_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  spdlog::info("checkpoint of step {} written to {} in {:.2f} s", step, path.string(), seconds);
  log_.write({{"kind", "checkpoint"}, {"step", step}, {"seconds", seconds}});
  log_.flush();
}

void Report::finish(const trainer::Trainer& trainer, ExitCode code) {
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  training_seconds_ = seconds - other_seconds_;
  const double rate = training_seconds_ > 0 ? static_cast<double>(samples_) / training_seconds_ : 0;
  store::TableStatistics sum;
  json tables;
  for (std::size_t t = 0; t < trainer.tables().size(); ++t) {
    const auto& table = trainer.tables()[t];
    tables[config_.tables[t].name] = to_json(table);
    sum.rows += table.rows;
    sum.bytes += table.bytes;
    sum.evicted += table.evicted;
    sum.gradients_applied += table.gradients_applied;
    sum.gradients_dropped += table.gradients_dropped;
  }
  json summary = {{"kind", "summary"},
                  {"step", trainer.step()},
                  {"exit_code", static_cast<int>(code)},
                  {"total_samples", total_samples_},
                  {"samples", samples_},
                  {"seconds", seconds},
                  {"training_seconds", training_seconds_},
                  {"samples_per_second", rate},
                  {"last_loss", last_loss_},
                  {"max_staleness", trainer.max_staleness()},
                  {"skipped_steps", skipped_steps_},
                  {"bad_rows", bad_rows_},
                  {"tables", tables}};
  if (evaluation_) summary["evaluation"] = to_json(*evaluation_);
  log_.write(summary);
  log_.flush();
  write_file_atomically(directory_.summary(), summary.dump(2) + "\n");

  say("");
  say(fmt::format("steps          {}", grouped(trainer.step())));
  say(fmt::format("samples        {} in {} ({}/s while training)", grouped(samples_),
                  duration(seconds), grouped(static_cast<std::int64_t>(rate))));
  if (evaluation_) {
    say(fmt::format("AUC            {}", number(evaluation_->auc, 5)));
    say(fmt::format("log loss       {:.5f} (normalized entropy {})", evaluation_->log_loss,
                    number(evaluation_->normalized_entropy, 4)));
    say(fmt::format("calibration    {} (base rate {:.4f})", number(evaluation_->calibration, 4),
                    evaluation_->base_rate));
  }
  say(fmt::format("rows           {} in {} tables, {:.1f} MB; {} evicted", grouped(sum.rows),
                  trainer.tables().size(), static_cast<double>(sum.bytes) / 1e6,
                  grouped(sum.evicted)));
  say(fmt::format("row updates    {} applied, {} dropped (row evicted)",
                  grouped(sum.gradients_applied), grouped(sum.gradients_dropped)));
  if (skipped_steps_ > 0) say(fmt::format("skipped        {} steps (not finite)", skipped_steps_));
  if (bad_rows_ > 0) say(fmt::format("bad rows       {} left out", bad_rows_));
  say(fmt::format("files          {}", directory_.root().string()));
}

}  // namespace satrap::job
