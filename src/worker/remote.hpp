#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "comm/protocol/message.hpp"
#include "comm/ring/fabric.hpp"
#include "core/types.hpp"
#include "worker/mailbox.hpp"

namespace satrap::worker {

/// The worker's side of a trainer in another process: what a MailboxPort does through memory,
/// through the rings between the two. The rows themselves do not pass through the worker: the
/// servers put them into the trainer's landing zone.
class RingPort final : public TrainerPort {
 public:
  RingPort(comm::Fabric& fabric, TrainerId trainer, WorldRank rank, comm::Pump pump);

  void deliver(const ReadyBatch& batch) override;
  std::optional<std::variant<Finished, Command>> poll() override;
  void answer(const CommandDone& done) override;

 private:
  TrainerId trainer_;
  comm::Outbox outbox_;
  comm::Inbox inbox_;
  comm::BlobReceiver blob_;
  comm::Pump pump_;
};

/// The trainer's side: moves what arrives from the worker into the mailbox, and what the compute
/// thread puts there to the worker. MPI thread.
class RemotePipeline {
 public:
  RemotePipeline(comm::Fabric& fabric, TrainerId trainer, WorldRank worker, Mailbox& mailbox,
                 comm::Pump pump);
  RemotePipeline(const RemotePipeline&) = delete;  // its pump points to it
  RemotePipeline& operator=(const RemotePipeline&) = delete;

  /// Does what can be done without waiting; returns whether there was anything.
  bool turn();
  /// After the answer to a stop has been handed on.
  bool stopped() const noexcept { return stopped_; }

 private:
  bool receive();
  bool send();

  TrainerId trainer_;
  Mailbox& mailbox_;
  comm::Outbox outbox_;
  comm::Inbox inbox_;
  comm::BlobReceiver blob_;
  comm::Pump pump_;
  bool stopping_ = false;
  bool stopped_ = false;
};

}  // namespace satrap::worker
