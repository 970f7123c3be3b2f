#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/protocol/message.hpp"
#include "comm/ring/fabric.hpp"
#include "config/config.hpp"
#include "core/hash.hpp"
#include "core/types.hpp"
#include "data/batch.hpp"
#include "worker/batch_producer.hpp"
#include "worker/embedding_client.hpp"
#include "worker/mailbox.hpp"

namespace satrap::worker {

/// Whether training pauses behind `step` until the trainers say proceed: an evaluation or a
/// checkpoint is due there. A function of config and step, so that pipelines and trainers agree
/// without a message.
bool is_barrier(const config::Config& config, Step step);

/// In-flight batches per trainer.
std::int64_t in_flight_limit(const config::Config& config);

/// The embedding worker's work for some trainers: reads samples, looks up their rows ahead of the
/// trainers within the staleness bound, hands the batches over, and pushes the gradients. It runs
/// in an embedding worker's process, or inside the trainer's when there are no workers.
///
/// The bound holds by order: a lookup is sent only when its trainer has fewer than in_flight_limit
/// batches whose gradients have not been sent, and a ring keeps the order, so that the server has
/// applied all gradients sent before the lookup when it answers.
///
/// The pipeline of trainer 0 also asks the servers for the statistics of the tables, every
/// job.progress_interval seconds while it trains, and sends them along with a batch.
///
/// Lives on the MPI thread. Call turn() until stopped().
class Pipeline {
 public:
  struct Trainer {
    TrainerId id;
    WorldRank rank;
    TrainerPort* port;  ///< Not owned.
  };
  struct Options {
    std::vector<Trainer> trainers;
    std::int64_t all_trainers = 1;
    std::vector<WorldRank> servers;
    std::vector<std::string> train_files;
    std::vector<std::string> valid_files;
    Step start = 0;  ///< Training goes on behind this step, at `position`.
    data::Position position;
    std::int64_t slot_bytes = 0;  ///< Of a slot of a trainer's landing zone.
    bool paused = false;          ///< Train nothing before a proceed.
  };

  /// `pump` is what else the process has to move while the pipeline waits for room in a ring.
  Pipeline(const config::Config& config, comm::Fabric& fabric, const RowPlacement& placement,
           Options options, comm::Pump pump);

  /// Does what can be done without waiting; returns whether there was anything. The caller
  /// progresses and publishes the fabric around it.
  bool turn();
  bool stopped() const noexcept { return phase_ == Phase::stopped; }
  /// What the trainers' stop said.
  ExitCode exit_code() const noexcept { return fence_command_.exit_code; }

 private:
  enum class Phase { training, paused, evaluating, fencing, stopped };

  struct InFlight {
    ReadyBatch batch;
    std::shared_ptr<const data::IdBatch> ids;
    bool evaluation = false;
    std::int64_t missing = 0;  ///< looked_up messages still to come
  };
  struct Lane {
    Trainer trainer;
    std::deque<InFlight> in_flight;  ///< In the order of the steps.
    std::size_t delivered = 0;       ///< How many of them the trainer has; they are in front.
    std::int64_t lookups = 0;        ///< So far; gives the landing slot.
    Step pushed = 0;
    bool issued = false;  ///< The current step has been looked up for this trainer.
    std::optional<Command> command;
  };

  bool receive();
  void take(const comm::MessageHeader& looked_up);
  bool deliver(Lane& lane);
  bool poll(Lane& lane);
  void finish(Lane& lane, Finished&& finished);
  bool look_up();
  bool may_look_up(const Lane& lane) const;
  void issue(Lane& lane, const std::shared_ptr<const data::IdBatch>& ids);
  bool end_of_data();
  bool obey();
  void execute(const Command& command);
  void finish_fence();
  bool ask_statistics();
  bool evaluating() const noexcept { return phase_ == Phase::evaluating; }

  const config::Config& config_;
  comm::Fabric& fabric_;
  RowPlacement placement_;
  Options options_;
  std::vector<Lane> lanes_;
  EmbeddingClient client_;
  std::vector<std::int64_t> dims_;
  std::int64_t limit_;
  Phase phase_ = Phase::training;
  Command fence_command_;
  BatchProducer train_;
  std::optional<BatchProducer> valid_;
  std::optional<PreparedStep> current_;
  bool received_ = false;
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
  bool news_ = false;  ///< The answers to the last question are not yet with trainer 0.
};

}  // namespace satrap::worker
