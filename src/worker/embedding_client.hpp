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

/// A requester's end of the rings to all servers: composes lookups, gradients and fences, and takes
/// in the answers. Sending blocks only while a ring is full, and pumps meanwhile. One thread, the
/// MPI thread.
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

  /// Takes in what has arrived: calls `looked_up` for each such message. May be called from the
  /// pump.
  void receive(const std::function<void(const comm::MessageHeader&)>& looked_up);
  /// Whether every server has answered the last fence; then the statistics of the tables, summed
  /// over the servers, are in statistics().
  bool fence_done() const noexcept { return fences_pending_ == 0; }
  const std::vector<store::TableStatistics>& statistics() const noexcept { return statistics_; }

 private:
  struct Peer {
    comm::Outbox outbox;
    comm::Inbox inbox;
    comm::BlobReceiver blob;
  };

  /// Calls fn(server, table, first, count) for pieces of unique rows that fit a message with
  /// `row_bytes` per row of payload besides the id.
  template <class Fn>
  void for_each_piece(const data::IdBatch& batch, bool with_rows, Fn&& fn) const;
  void add_statistics(const std::vector<std::byte>& bytes, const comm::Inbox& inbox,
                      const comm::MessageHeader& header);

  std::vector<std::int64_t> dims_;
  std::vector<Peer> servers_;
  comm::Pump pump_;
  std::size_t max_payload_;
  std::size_t fences_pending_ = 0;
  std::vector<store::TableStatistics> statistics_;
};

}  // namespace satrap::worker
