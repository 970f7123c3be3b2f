#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "core/queue.hpp"
#include "core/types.hpp"
#include "data/batch.hpp"
#include "store/table.hpp"

namespace satrap::worker {

/// What the pipeline hands to a trainer. The rows of a batch lie in the trainer's landing zone,
/// laid out as comm::RowLayout says, until the trainer answers with Finished.
struct ReadyBatch {
  enum class Kind : std::uint8_t {
    train,
    train_end,  ///< No more steps: the epochs or train.steps are done.
    evaluate,
    evaluate_end,  ///< The evaluation data is done.
  };
  Kind kind = Kind::train;
  Step step = 0;
  data::Position next;
  std::int64_t global_samples = 0;
  double fraction = 0;
  std::int64_t bad_rows = 0;         ///< So far; summed over the trainers those of the job.
  std::int64_t staleness = 0;        ///< Own earlier batches that some row of this one did not see.
  std::int64_t slot = 0;             ///< Of the landing zone.
  std::vector<std::int64_t> unique;  ///< [tables] unique rows, which give the layout
  /// [tables] News of the tables, summed over the servers, from time to time and for trainer 0
  /// alone; else empty.
  std::vector<store::TableStatistics> statistics;
  /// Null for the ends. A trainer uses labels, dense features and slots; the ids stay with the
  /// pipeline, and `tables` is empty where the batch came from another process.
  std::shared_ptr<const data::IdBatch> ids;
};

/// A trainer is done with the oldest batch it was handed: its slot is free, and these are its
/// gradients, laid out as its rows; empty for an evaluation batch and for a step that all trainers
/// skipped.
struct Finished {
  Step step = 0;
  std::vector<float> gradients;
};

/// What all trainers ask for together, between steps.
struct Command {
  enum class Kind : std::uint32_t {
    evaluate,  ///< Hand out the evaluation data; the servers have applied every gradient sent
               ///< before.
    save,      ///< The servers write their shards.
    proceed,   ///< Go on with training after a pause (see config's barrier steps).
    stop,      ///< The servers end with `exit_code`; nothing follows.
  };
  Kind kind = Kind::proceed;
  Step step = 0;
  ExitCode exit_code = ExitCode::done;
};

/// The answer to a save or stop: statistics of each table, summed over the servers.
struct CommandDone {
  std::vector<store::TableStatistics> tables;
};

/// The queues between the MPI thread of a trainer's process and its compute thread. None is ever
/// full for long: what is in them is bounded by the in-flight batches.
struct Mailbox {
  explicit Mailbox(std::size_t in_flight)
      : ready(in_flight + 2), from_trainer(in_flight + 2), done(1) {}

  BoundedQueue<ReadyBatch> ready;
  BoundedQueue<std::variant<Finished, Command>> from_trainer;  ///< In the order of the trainer.
  BoundedQueue<CommandDone> done;

  void close() {
    ready.close();
    from_trainer.close();
    done.close();
  }
};

/// The pipeline's side of one trainer, in this process (MailboxPort) or in another (remote.hpp).
/// MPI thread only.
class TrainerPort {
 public:
  virtual ~TrainerPort() = default;

  virtual void deliver(const ReadyBatch& batch) = 0;
  virtual std::optional<std::variant<Finished, Command>> poll() = 0;
  virtual void answer(const CommandDone& done) = 0;
};

class MailboxPort final : public TrainerPort {
 public:
  explicit MailboxPort(Mailbox& mailbox) : mailbox_(mailbox) {}

  void deliver(const ReadyBatch& batch) override { mailbox_.ready.push(batch); }
  std::optional<std::variant<Finished, Command>> poll() override {
    return mailbox_.from_trainer.try_pop();
  }
  void answer(const CommandDone& done) override { mailbox_.done.push(done); }

 private:
  Mailbox& mailbox_;
};

}  // namespace satrap::worker
