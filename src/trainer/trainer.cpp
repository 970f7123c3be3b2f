#include "trainer/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/log.hpp"
#include "core/signals.hpp"
#include "trainer/dense_state.hpp"
#include "worker/pipeline.hpp"

namespace satrap::trainer {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool due(Step step, std::int64_t every) {
  return every > 0 && step % every == 0;
}

}  // namespace

Trainer::Trainer(const config::Config& config, comm::Collectives& collectives,
                 worker::Mailbox& mailbox, TrainerOptions options, Observer& observer)
    : config_(config),
      collectives_(collectives),
      mailbox_(mailbox),
      options_(std::move(options)),
      observer_(observer),
      compute_(config, collectives) {
  state_.seed = config.job.seed;
  state_.config_ini = config::to_ini(config);
  state_.arrays = named_arrays(compute_.model(), compute_.optimizer());
  if (options_.resume) {
    checkpoint::load_dense(*options_.resume, state_);
    saved_ = state_.step;
  }
}

ExitCode Trainer::run() {
  ExitCode code = ExitCode::done;
  if (options_.evaluate_only) {
    evaluate();
  } else {
    code = train();
  }
  tables_ = command(worker::Command::Kind::stop, code);
  return code;
}

ExitCode Trainer::train() {
  for (;;) {
    const worker::ReadyBatch batch = next();
    if (batch.kind == worker::ReadyBatch::Kind::train_end) break;
    const ExitCode code = after_step(step(batch));
    if (code != ExitCode::done) return code;
  }
  at_barrier(true);
  return ExitCode::done;
}

StepResult Trainer::step(const worker::ReadyBatch& batch) {
  const StepResult result = compute_.train(batch, rows_of(batch), stop_requested());
  mailbox_.from_trainer.push(worker::Finished{batch.step, compute_.take_row_gradients()});
  state_.step = batch.step;
  state_.position = batch.next;
  state_.samples += result.samples;
  max_staleness_ = std::max(max_staleness_, static_cast<double>(batch.staleness));
  nonfinite_in_a_row_ = result.finite ? 0 : nonfinite_in_a_row_ + 1;
  if (first()) {
    observer_.on_step({batch.step, batch.next, result.samples, state_.samples, result.loss,
                       !result.finite, batch.fraction, result.staleness, result.bad_rows,
                       batch.statistics, compute_.logits(), batch.ids->labels});
  }
  return result;
}

/// The limit holds for an epoch, over all trainers; what they read more than that is told by one.
void Trainer::check_bad_rows(std::int64_t total) {
  if (state_.position.epoch != epoch_) bad_rows_before_ = bad_rows_;
  epoch_ = state_.position.epoch;
  bad_rows_ = total;
  const std::int64_t in_epoch = bad_rows_ - bad_rows_before_;
  if (in_epoch <= config_.data.max_bad_rows) return;
  throw DataError(
      fmt::format("{} bad rows in epoch {} up to step {}", in_epoch, epoch_ + 1, state_.step),
      fmt::format("data.max_bad_rows is {}", config_.data.max_bad_rows),
      "repair the rows that the warnings in the log name, or raise data.max_bad_rows");
}

/// What all trainers decide alike once a step is done; anything but done ends the run.
ExitCode Trainer::after_step(const StepResult& result) {
  check_bad_rows(result.bad_rows);
  if (nonfinite_in_a_row_ >= config_.train.max_nonfinite_steps) {
    if (first()) {
      spdlog::error(
          "training stopped at step {}: loss or gradients were not finite in {} steps in a row "
          "(train.max_nonfinite_steps); lower the learning rates, or look for extreme values in "
          "the dense features; {}",
          state_.step, nonfinite_in_a_row_,
          saved_ < 0 ? std::string("there is no checkpoint")
                     : fmt::format("the last checkpoint is from step {}", saved_));
    }
    return ExitCode::numerical;
  }
  if (worker::is_barrier(config_, state_.step)) {
    at_barrier(false);
    if (!result.stop) command(worker::Command::Kind::proceed);
  }
  if (!result.stop) return ExitCode::done;
  if (saved_ != state_.step) save();
  if (first()) spdlog::warn("stopped by a signal after step {}; run again to go on", state_.step);
  return ExitCode::stopped;
}

void Trainer::at_barrier(bool end) {
  const bool evaluating = end || due(state_.step, config_.train.eval_every);
  const bool saving = end ? config_.checkpoint.at_end : due(state_.step, config_.checkpoint.every);
  const auto save_if_due = [&] {
    if (saving && saved_ != state_.step) save();
  };
  // At the end a fault in the evaluation data must not cost the model. On the way the checkpoint
  // comes last, so that a run that goes on from it lacks no evaluation.
  if (end) save_if_due();
  if (evaluating && options_.has_valid && evaluated_ != state_.step) evaluate();
  save_if_due();
}

void Trainer::evaluate() {
  const auto start = Clock::now();
  compute_.average_state();
  command(worker::Command::Kind::evaluate);
  std::vector<metrics::Scored> scored;
  for (;;) {
    const worker::ReadyBatch batch = next();
    if (batch.kind == worker::ReadyBatch::Kind::evaluate_end) break;
    const auto logits = compute_.evaluate(batch, rows_of(batch));
    for (std::size_t i = 0; i < logits.size(); ++i) {
      scored.push_back({logits[i], batch.ids->labels[i]});
    }
    mailbox_.from_trainer.push(worker::Finished{batch.step, {}});
  }
  const auto bytes = collectives_.gather(std::as_bytes(std::span(scored)), 0);
  evaluated_ = state_.step;
  if (!first()) return;
  scored.resize(bytes.size() / sizeof(metrics::Scored));
  if (!bytes.empty()) std::memcpy(scored.data(), bytes.data(), bytes.size());
  observer_.on_evaluation(state_.step, metrics::evaluate(scored), seconds_since(start));
}

void Trainer::save() {
  const auto start = Clock::now();
  compute_.average_state();
  std::filesystem::path directory;
  if (first()) directory = checkpoint::begin_save(options_.checkpoints, state_.step);
  collectives_.barrier();
  mailbox_.from_trainer.push(worker::Command{worker::Command::Kind::save, state_.step});
  if (first()) checkpoint::save_dense(directory, state_);
  if (!mailbox_.done.pop()) throw InternalError("the job is ending");
  // All servers have written: each answered every pipeline.
  if (first()) {
    checkpoint::finish_save(options_.checkpoints, state_.step, config_.checkpoint.keep);
    observer_.on_checkpoint(state_.step, options_.checkpoints, seconds_since(start));
  }
  collectives_.barrier();
  saved_ = state_.step;
}

std::vector<store::TableStatistics> Trainer::command(worker::Command::Kind kind, ExitCode code) {
  mailbox_.from_trainer.push(worker::Command{kind, state_.step, code});
  if (kind != worker::Command::Kind::stop) return {};
  auto done = mailbox_.done.pop();
  if (!done) throw InternalError("the job is ending");
  return std::move(done->tables);
}

worker::ReadyBatch Trainer::next() {
  auto batch = mailbox_.ready.pop();
  if (!batch) throw InternalError("the job is ending");
  return std::move(*batch);
}

const float* Trainer::rows_of(const worker::ReadyBatch& batch) const {
  return reinterpret_cast<const float*>(options_.landing.data() + batch.slot * options_.slot_bytes);
}

}  // namespace satrap::trainer
