#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "comm/protocol/message.hpp"
#include "comm/protocol/row_layout.hpp"
#include "comm/ring/fabric.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "core/types.hpp"
#include "data/batch.hpp"
#include "store/table.hpp"

namespace satrap::worker {

/// Unique rows of each table of a batch: [tables].
std::vector<std::int64_t> unique_rows(const data::IdBatch& batch);
/// Dims of the tables of `config`, in order.
std::vector<std::int64_t> table_dims(const config::Config& config);

/// Throws ConfigError if a message of transport.ring_bytes cannot hold the gradient of one row.
void check_ring_bytes(const config::Config& config);

/// A requester's end of the rings to all servers: composes lookups, gradients, fences and questions
/// for statistics, and takes in the answers. Sending blocks only while a ring is full, and pumps
/// meanwhile. One thread, the MPI thread.
class EmbeddingClient {
 public:
  /// Where the rows of a batch go.
  struct Landing {
    WorldRank rank;
    std::int64_t offset;  ///< Bytes into its landing zone.
  };

  EmbeddingClient(const config::Config& config, comm::Fabric& fabric,
                  const std::vector<WorldRank>& servers, comm::Pump pump);

  /// How many looked_up messages answer a lookup of `batch`.
  std::int64_t lookup_messages(const data::IdBatch& batch) const;
  void send_lookup(TrainerId trainer, Step step, bool evaluation, const data::IdBatch& batch,
                   const Landing& landing);
  /// `gradients` laid out as layout_of(batch); empty: the step is skipped, nothing is applied.
  void send_gradients(TrainerId trainer, Step step, const data::IdBatch& batch,
                      std::span<const float> gradients);
  void send_fence(comm::FenceKind kind, Step step, ExitCode code);
  /// Asks all servers for statistics() without a fence; not while statistics_pending().
  void ask_statistics();

  /// Takes in what has arrived: calls `looked_up` for each such message. May be called from the
  /// pump.
  void receive(const std::function<void(const comm::MessageHeader&)>& looked_up);
  /// Whether every server has answered the last fence.
  bool fence_done() const noexcept { return fence_.pending == 0; }
  /// The statistics of the tables [tables] at the last fence, summed over the servers.
  const std::vector<store::TableStatistics>& fence_statistics() const noexcept {
    return fence_.tables;
  }
  /// The same for the last question; complete unless statistics_pending().
  bool statistics_pending() const noexcept { return asked_.pending > 0; }
  const std::vector<store::TableStatistics>& statistics() const noexcept { return asked_.tables; }

 private:
  struct Peer {
    comm::Outbox outbox;
    comm::Inbox inbox;
    comm::BlobReceiver blob;
  };

  /// What the servers say, summed as it comes in.
  struct Answers {
    std::size_t pending = 0;  ///< Servers that have not answered.
    std::vector<store::TableStatistics> tables;
  };

  /// Sends the header alone to every server, which all answer with their statistics.
  void send_to_all(const comm::MessageHeader& header, Answers& answers);
  /// Calls fn(server, table, first, count) for pieces of unique rows that fit a message with
  /// `row_bytes` per row of payload besides the id.
  template <class Fn>
  void for_each_piece(const data::IdBatch& batch, bool with_rows, Fn&& fn) const;
  static void add(Answers& answers, const std::vector<std::byte>& bytes, const comm::Inbox& inbox,
                  const comm::MessageHeader& header);

  std::vector<std::int64_t> dims_;
  std::vector<Peer> servers_;
  comm::Pump pump_;
  std::size_t max_payload_;
  Answers fence_;
  Answers asked_;
};

}  // namespace satrap::worker
