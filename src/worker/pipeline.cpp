#include "worker/pipeline.hpp"

#include <algorithm>
#include <variant>

namespace satrap::worker {

bool is_barrier(const config::Config& config, Step step) {
  const auto due = [&](std::int64_t every) { return every > 0 && step % every == 0; };
  return due(config.train.eval_every) || due(config.checkpoint.every);
}

std::int64_t in_flight_limit(const config::Config& config) {
  return config.train.mode == config::Mode::sync ? 1 : config.train.staleness;
}

namespace {

std::vector<TrainerId> trainer_ids(const std::vector<Pipeline::Trainer>& trainers) {
  std::vector<TrainerId> ids;
  for (const auto& trainer : trainers) ids.push_back(trainer.id);
  return ids;
}

BatchProducer::Options train_options(const config::Config& config,
                                     const Pipeline::Options& options) {
  BatchProducer::Options train;
  train.files = options.train_files;
  train.order = config.data.shuffle ? data::SampleReader::Order::shuffled
                                    : data::SampleReader::Order::sequential;
  train.batch = config.train.global_batch;
  train.epochs = config.train.epochs;
  train.max_steps = config.train.steps;
  train.drop_last = config.train.drop_last;
  train.start = options.start;
  train.position = options.position;
  train.trainers = trainer_ids(options.trainers);
  train.all_trainers = options.all_trainers;
  return train;
}

BatchProducer::Options valid_options(const config::Config& config,
                                     const Pipeline::Options& options) {
  BatchProducer::Options valid;
  valid.files = options.valid_files;
  valid.order = data::SampleReader::Order::sequential;
  valid.batch = config.train.eval_batch > 0 ? config.train.eval_batch : config.train.global_batch;
  valid.trainers = trainer_ids(options.trainers);
  valid.all_trainers = options.all_trainers;
  return valid;
}

}  // namespace

Pipeline::Pipeline(const config::Config& config, comm::Fabric& fabric,
                   const RowPlacement& placement, Options options, comm::Pump pump)
    : config_(config),
      fabric_(fabric),
      placement_(placement),
      options_(std::move(options)),
      client_(config, fabric, options_.servers,
              [this, pump = std::move(pump)] {
                fabric_.publish();
                fabric_.progress();
                receive();
                pump();
              }),
      dims_(table_dims(config)),
      limit_(in_flight_limit(config)),
      train_(config, placement, train_options(config, options_)) {
  if (options_.paused) phase_ = Phase::paused;
  for (const Trainer& trainer : options_.trainers) {
    Lane lane;
    lane.trainer = trainer;
    lane.pushed = options_.start;
    lanes_.push_back(std::move(lane));
  }
}

bool Pipeline::turn() {
  bool worked = receive();
  for (Lane& lane : lanes_) {
    worked |= deliver(lane);
    worked |= poll(lane);
  }
  worked |= obey();
  worked |= ask_statistics();
  if (phase_ == Phase::training || phase_ == Phase::evaluating) worked |= look_up();
  if (phase_ == Phase::fencing && client_.fence_done()) {
    finish_fence();
    worked = true;
  }
  return worked;
}

bool Pipeline::receive() {
  received_ = false;
  client_.receive([this](const comm::MessageHeader& header) { take(header); });
  return received_;
}

void Pipeline::take(const comm::MessageHeader& looked_up) {
  received_ = true;
  const bool evaluation = (looked_up.flags & comm::kEvaluation) != 0;
  for (Lane& lane : lanes_) {
    if (raw(lane.trainer.id) != looked_up.trainer) continue;
    for (InFlight& batch : lane.in_flight) {
      if (batch.batch.step != looked_up.step || batch.evaluation != evaluation) continue;
      --batch.missing;
      batch.batch.staleness =
          std::max(batch.batch.staleness, static_cast<std::int64_t>(looked_up.detail));
      return;
    }
  }
  throw InternalError(
      fmt::format("rows of a batch that is not in flight have arrived (trainer {}, "
                  "step {})",
                  looked_up.trainer, looked_up.step));
}

bool Pipeline::deliver(Lane& lane) {
  bool worked = false;
  while (!lane.command && lane.delivered < lane.in_flight.size() &&
         lane.in_flight[lane.delivered].missing == 0) {
    ReadyBatch& batch = lane.in_flight[lane.delivered].batch;
    if (news_ && raw(lane.trainer.id) == 0 && !evaluating() && !client_.statistics_pending()) {
      batch.statistics = client_.statistics();
      news_ = false;
    }
    lane.trainer.port->deliver(batch);
    ++lane.delivered;
    worked = true;
  }
  return worked;
}

bool Pipeline::poll(Lane& lane) {
  if (lane.command) return false;
  auto message = lane.trainer.port->poll();
  if (!message) return false;
  if (auto* finished = std::get_if<Finished>(&*message)) {
    finish(lane, std::move(*finished));
  } else {
    lane.command = std::get<Command>(*message);
  }
  return true;
}

void Pipeline::finish(Lane& lane, Finished&& finished) {
  if (lane.delivered == 0 || lane.in_flight.front().batch.step != finished.step) {
    throw InternalError(fmt::format("trainer {} finished step {}, which it does not have",
                                    raw(lane.trainer.id), finished.step));
  }
  const InFlight& batch = lane.in_flight.front();
  if (!batch.evaluation) {
    client_.send_gradients(lane.trainer.id, finished.step, *batch.ids, finished.gradients);
    lane.pushed = finished.step;
  }
  lane.in_flight.pop_front();
  --lane.delivered;
}

bool Pipeline::look_up() {
  BatchProducer& producer = evaluating() ? *valid_ : train_;
  if (!current_) {
    current_ = producer.try_next();
    if (!current_) return producer.finished() && end_of_data();
    for (Lane& lane : lanes_) lane.issued = false;
  }
  bool worked = false;
  bool all_issued = true;
  for (std::size_t k = 0; k < lanes_.size(); ++k) {
    Lane& lane = lanes_[k];
    if (!lane.issued && may_look_up(lane)) {
      issue(lane, current_->batches[k]);
      worked = true;
    }
    all_issued &= lane.issued;
  }
  if (all_issued) {
    if (!evaluating() && is_barrier(config_, current_->step)) phase_ = Phase::paused;
    current_.reset();
  }
  return worked;
}

bool Pipeline::may_look_up(const Lane& lane) const {
  if (static_cast<std::int64_t>(lane.in_flight.size()) >= limit_) return false;
  if (evaluating() || config_.train.mode != config::Mode::sync) return true;
  // A server holds back everything behind a lookup until the step before is applied, so the
  // gradients of all trainers that share this ring must be in front of it.
  return std::all_of(lanes_.begin(), lanes_.end(),
                     [&](const Lane& other) { return other.pushed >= current_->step - 1; });
}

void Pipeline::issue(Lane& lane, const std::shared_ptr<const data::IdBatch>& ids) {
  InFlight batch;
  batch.ids = ids;
  batch.evaluation = evaluating();
  batch.missing = client_.lookup_messages(*ids);
  batch.batch.kind = evaluating() ? ReadyBatch::Kind::evaluate : ReadyBatch::Kind::train;
  batch.batch.step = current_->step;
  batch.batch.next = current_->next;
  batch.batch.global_samples = current_->global_samples;
  batch.batch.fraction = current_->fraction;
  // One reader serves all lanes: its count is told once.
  batch.batch.bad_rows = &lane == &lanes_.front() ? current_->bad_rows : 0;
  batch.batch.slot = lane.lookups++ % limit_;
  batch.batch.unique = unique_rows(*ids);
  batch.batch.ids = ids;

  const auto bytes =
      comm::RowLayout(batch.batch.unique, dims_).floats * static_cast<std::int64_t>(sizeof(float));
  if (bytes > options_.slot_bytes) {
    throw ConfigError(
        fmt::format("the rows of one batch need {} bytes of trainer {}'s memory", bytes,
                    raw(lane.trainer.id)),
        fmt::format("transport.reply_bytes gives {} per in-flight batch", options_.slot_bytes),
        fmt::format("set transport.reply_bytes to at least {}", bytes * limit_));
  }
  lane.issued = true;
  lane.in_flight.push_back(std::move(batch));
  client_.send_lookup(lane.trainer.id, current_->step, evaluating(), *ids,
                      {lane.trainer.rank, lane.in_flight.back().batch.slot * options_.slot_bytes});
}

/// Tells the trainers, once each of them has been handed every batch.
bool Pipeline::end_of_data() {
  for (const Lane& lane : lanes_) {
    if (lane.delivered < lane.in_flight.size()) return false;
  }
  ReadyBatch end;
  end.kind = evaluating() ? ReadyBatch::Kind::evaluate_end : ReadyBatch::Kind::train_end;
  for (Lane& lane : lanes_) lane.trainer.port->deliver(end);
  valid_.reset();
  phase_ = Phase::paused;
  return true;
}

/// Carries out the trainers' command once all of them have sent it and no row is under way any
/// more.
bool Pipeline::obey() {
  for (const Lane& lane : lanes_) {
    if (!lane.command) return false;
    for (const InFlight& batch : lane.in_flight) {
      if (batch.missing > 0) return false;
    }
  }
  const Command command = *lanes_.front().command;
  for (Lane& lane : lanes_) {
    if (lane.command->kind != command.kind || lane.command->step != command.step) {
      throw InternalError("the trainers do not agree on what comes next");
    }
    lane.command.reset();
    // Only a stop between barriers leaves batches behind: they were looked up and are abandoned.
    lane.in_flight.clear();
    lane.delivered = 0;
  }
  execute(command);
  return true;
}

void Pipeline::execute(const Command& command) {
  fence_command_ = command;
  switch (command.kind) {
    case Command::Kind::proceed:
      phase_ = Phase::training;
      return;
    case Command::Kind::evaluate:
      client_.send_fence(comm::FenceKind::evaluate, command.step, ExitCode::done);
      break;
    case Command::Kind::save:
      client_.send_fence(comm::FenceKind::save, command.step, ExitCode::done);
      break;
    case Command::Kind::stop:
      client_.send_fence(comm::FenceKind::stop, command.step, command.exit_code);
      break;
  }
  phase_ = Phase::fencing;
}

/// At most once per interval, from the first lookup on, and not before the last answers are with
/// trainer 0. Returns whether it has asked.
bool Pipeline::ask_statistics() {
  const Lane& lane = lanes_.front();
  if (phase_ != Phase::training || news_ || raw(lane.trainer.id) != 0 || lane.lookups == 0) {
    return false;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - asked_ < std::chrono::duration<double>(config_.job.progress_interval)) return false;
  client_.ask_statistics();
  asked_ = now;
  news_ = true;
  return true;
}

void Pipeline::finish_fence() {
  if (fence_command_.kind == Command::Kind::evaluate) {
    current_.reset();
    valid_.emplace(config_, placement_, valid_options(config_, options_));
    phase_ = Phase::evaluating;
    return;
  }
  for (Lane& lane : lanes_) lane.trainer.port->answer({client_.fence_statistics()});
  phase_ = fence_command_.kind == Command::Kind::stop ? Phase::stopped : Phase::paused;
}

}  // namespace satrap::worker
