#include "job/role_loops.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <thread>

#include "checkpoint/checkpoint.hpp"
#include "comm/backoff.hpp"
#include "comm/collective/collectives.hpp"
#include "core/hash.hpp"
#include "job/report.hpp"
#include "job/shards.hpp"
#include "server/server.hpp"
#include "trainer/trainer.hpp"
#include "worker/mailbox.hpp"
#include "worker/pipeline.hpp"
#include "worker/remote.hpp"

namespace satrap::job {

namespace {

RowPlacement placement_of(const config::Config& config) {
  return RowPlacement(static_cast<std::uint32_t>(config.checkpoint.virtual_shards),
                      static_cast<std::int32_t>(config.roles.servers));
}

worker::Pipeline::Options pipeline_options(const Stage& stage,
                                           std::vector<worker::Pipeline::Trainer> trainers) {
  worker::Pipeline::Options options;
  options.trainers = std::move(trainers);
  options.all_trainers = stage.config.roles.trainers;
  options.servers = stage.cast.servers;
  options.train_files = stage.train_files;
  options.valid_files = stage.valid_files;
  options.start = stage.start.step;
  options.position = stage.start.position;
  options.slot_bytes = slot_bytes(stage.config);
  options.paused = stage.evaluate_only;
  return options;
}

/// Where a trainer's batches come from: the pipeline in this process, or the worker's rings.
class BatchSource {
 public:
  BatchSource(const Stage& stage, comm::Fabric& fabric, worker::Mailbox& mailbox, comm::Pump pump)
      : port_(mailbox) {
    const TrainerId me{stage.cast.index};
    if (stage.cast.workers.empty()) {
      const WorldRank rank = stage.cast.trainers[static_cast<std::size_t>(raw(me))];
      pipeline_ = std::make_unique<worker::Pipeline>(
          stage.config, fabric, placement_of(stage.config),
          pipeline_options(stage, {{me, rank, &port_}}), std::move(pump));
    } else {
      remote_ = std::make_unique<worker::RemotePipeline>(fabric, me, stage.cast.worker_of(me),
                                                         mailbox, std::move(pump));
    }
  }

  bool turn() { return pipeline_ ? pipeline_->turn() : remote_->turn(); }
  bool stopped() const { return pipeline_ ? pipeline_->stopped() : remote_->stopped(); }

 private:
  worker::MailboxPort port_;
  std::unique_ptr<worker::Pipeline> pipeline_;
  std::unique_ptr<worker::RemotePipeline> remote_;
};

/// The trainer's compute thread and what it leaves behind.
class ComputeThread {
 public:
  ComputeThread(const Stage& stage, comm::Fabric& fabric, comm::Collectives& collectives,
                worker::Mailbox& mailbox)
      : thread_([this, &stage, &fabric, &collectives, &mailbox] {
          try {
            code_ = train(stage, fabric, collectives, mailbox);
          } catch (...) {
            error_ = std::current_exception();
          }
          done_.store(true, std::memory_order_release);
        }) {}

  bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  bool failed() const noexcept { return done() && error_ != nullptr; }
  /// After done(): the exit code, or rethrows what ended the thread.
  ExitCode result() const {
    if (error_) std::rethrow_exception(error_);
    return code_;
  }

 private:
  static ExitCode train(const Stage& stage, comm::Fabric& fabric, comm::Collectives& collectives,
                        worker::Mailbox& mailbox) {
    trainer::TrainerOptions options;
    options.id = TrainerId{stage.cast.index};
    options.landing = fabric.landing();
    options.slot_bytes = slot_bytes(stage.config);
    options.resume = stage.start.checkpoint;
    options.checkpoints = stage.directory.checkpoints();
    options.has_valid = !stage.valid_files.empty();
    options.evaluate_only = stage.evaluate_only;

    trainer::Observer nobody;
    std::unique_ptr<Report> report;
    if (raw(options.id) == 0) {
      report =
          std::make_unique<Report>(stage.config, stage.directory, stage.start, stage.evaluate_only);
    }
    trainer::Trainer trainer(stage.config, collectives, mailbox, std::move(options),
                             report ? *report : nobody);
    const ExitCode code = trainer.run();
    if (report) report->finish(trainer, code);
    return code;
  }

  ExitCode code_ = ExitCode::internal;
  std::exception_ptr error_;
  std::atomic<bool> done_{false};
  std::jthread thread_;
};

}  // namespace

std::int64_t slot_bytes(const config::Config& config) {
  const std::int64_t limit = worker::in_flight_limit(config);
  if (config.transport.reply_bytes > 0) return config.transport.reply_bytes / limit / 64 * 64;
  // The rows of one id per slot and sample, and each table's padding to 64 bytes.
  const std::int64_t largest = std::max(config.train.global_batch, config.train.eval_batch);
  const std::int64_t local = largest / config.roles.trainers + 1;
  std::int64_t floats = 16 * static_cast<std::int64_t>(config.tables.size());
  for (std::size_t t = 0; t < config.tables.size(); ++t) {
    floats += config.most_rows(t, local) * config.tables[t].dim;
  }
  return (floats * static_cast<std::int64_t>(sizeof(float)) + 63) / 64 * 64;
}

std::int64_t landing_bytes(const config::Config& config) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  const std::int64_t slot = slot_bytes(config);
  const std::int64_t limit = worker::in_flight_limit(config);
  if (slot <= kMost / limit) return slot * limit;
  throw ConfigError(fmt::format("{} in-flight batches of {} bytes of rows are more than any memory "
                                "holds",
                                limit, slot),
                    {}, "lower train.global_batch, train.staleness or the tables' dim");
}

std::vector<store::Table> make_tables(const config::Config& config, const Start& start,
                                      std::int32_t index) {
  std::vector<store::Table> tables;
  for (std::size_t t = 0; t < config.tables.size(); ++t) {
    tables.emplace_back(TableId{static_cast<std::uint32_t>(t)},
                        shard_of(config.tables[t], config.roles.servers), config.job.seed);
  }
  if (start.checkpoint) {
    checkpoint::load_shard(*start.checkpoint, placement_of(config), ServerId{index}, tables);
  }
  return tables;
}

ExitCode run_server(const Stage& stage, comm::Fabric& fabric) {
  auto tables = make_tables(stage.config, stage.start, stage.cast.index);
  server::ServerOptions options;
  options.id = ServerId{stage.cast.index};
  options.requesters = stage.cast.requesters();
  options.trainers = static_cast<std::int32_t>(stage.cast.trainers.size());
  options.start = stage.start.step;
  options.checkpoint_directory = [&](Step step) {
    return checkpoint::temporary_directory(stage.directory.checkpoints(), step);
  };
  return server::Server(stage.config, fabric, tables, std::move(options)).run();
}

ExitCode run_worker(const Stage& stage, comm::Fabric& fabric) {
  const comm::Pump pump = [&] {
    fabric.publish();
    fabric.progress();
  };
  std::vector<std::unique_ptr<worker::RingPort>> ports;
  std::vector<worker::Pipeline::Trainer> trainers;
  for (const TrainerId id : stage.cast.served()) {
    const WorldRank rank = stage.cast.trainers[static_cast<std::size_t>(raw(id))];
    ports.push_back(std::make_unique<worker::RingPort>(fabric, id, rank, pump));
    trainers.push_back({id, rank, ports.back().get()});
  }
  worker::Pipeline pipeline(stage.config, fabric, placement_of(stage.config),
                            pipeline_options(stage, std::move(trainers)), pump);
  comm::Backoff backoff(stage.config.transport.spin_us, stage.config.transport.max_sleep_us);
  while (!pipeline.stopped()) {
    fabric.progress();
    const bool worked = pipeline.turn();
    fabric.publish();
    worked ? backoff.reset() : backoff.idle();
  }
  return pipeline.exit_code();
}

ExitCode run_trainer(const Stage& stage, comm::Fabric& fabric, const comm::Communicator& trainers) {
  worker::Mailbox mailbox(static_cast<std::size_t>(worker::in_flight_limit(stage.config)));
  comm::Collectives collectives(trainers);
  // Its destructor joins the thread, which must not wait for what this function will no longer do.
  struct Closing {
    worker::Mailbox& mailbox;
    comm::Collectives& collectives;
    ~Closing() {
      mailbox.close();
      collectives.abandon();
    }
  };
  ComputeThread compute(stage, fabric, collectives, mailbox);
  const Closing closing{mailbox, collectives};
  BatchSource source(stage, fabric, mailbox, [&] {
    fabric.publish();
    fabric.progress();
    collectives.progress();
  });
  comm::Backoff backoff(stage.config.transport.spin_us, stage.config.transport.max_sleep_us);
  while (!(compute.done() && source.stopped()) && !compute.failed()) {
    fabric.progress();
    bool worked = source.turn();
    worked |= collectives.progress();
    fabric.publish();
    worked ? backoff.reset() : backoff.idle();
  }
  return compute.result();
}

}  // namespace satrap::job
