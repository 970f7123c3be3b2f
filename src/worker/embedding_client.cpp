#include "worker/embedding_client.hpp"

#include <algorithm>
#include <cstring>

namespace satrap::worker {

namespace {

// A lookup asks for at most this many floats, so that a server's reply fits its staging buffer and
// is under way while the next one is prepared.
constexpr std::int64_t kMaxLookupFloats = std::int64_t{1} << 18;

}  // namespace

std::vector<std::int64_t> table_dims(const config::Config& config) {
  std::vector<std::int64_t> dims;
  for (const auto& table : config.tables) dims.push_back(table.dim);
  return dims;
}

std::vector<std::int64_t> unique_rows(const data::IdBatch& batch) {
  std::vector<std::int64_t> unique;
  for (const auto& table : batch.tables) {
    unique.push_back(static_cast<std::int64_t>(table.unique.size()));
  }
  return unique;
}

void check_ring_bytes(const config::Config& config) {
  std::int64_t dim = 0;
  for (const auto& table : config.tables) dim = std::max(dim, table.dim);
  const auto message = static_cast<std::int64_t>(sizeof(comm::MessageHeader) + sizeof(FeatureId)) +
                       dim * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t ring = config.transport.ring_bytes;
  if (message <= comm::max_message_of(ring)) return;
  constexpr std::int64_t kLine = comm::kRingLine;
  const std::int64_t least = (4 * (message + comm::kRingHeader) + kLine - 1) / kLine * kLine;
  throw ConfigError(
      fmt::format("transport.ring_bytes = {} is too small", ring),
      fmt::format("the gradient of a row of dim {} takes a message of {} bytes, and a "
                  "message a quarter of the ring at most",
                  dim, message),
      fmt::format("set it to at least {}", least));
}

EmbeddingClient::EmbeddingClient(const config::Config& config, comm::Fabric& fabric,
                                 const std::vector<WorldRank>& servers, comm::Pump pump)
    : dims_(table_dims(config)), pump_(std::move(pump)) {
  for (const WorldRank rank : servers) {
    servers_.push_back({comm::Outbox(fabric.to(rank)),
                        comm::Inbox(fabric.from(rank), fmt::format("server rank {}", raw(rank))),
                        {}});
  }
  max_payload_ = servers_.front().outbox.max_payload();
}

template <class Fn>
void EmbeddingClient::for_each_piece(const data::IdBatch& batch, bool with_rows, Fn&& fn) const {
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    for (std::size_t t = 0; t < batch.tables.size(); ++t) {
      const auto row_bytes = static_cast<std::size_t>(dims_[t]) * sizeof(float);
      const std::size_t most =
          with_rows ? max_payload_ / (sizeof(FeatureId) + row_bytes)
                    : std::min<std::size_t>(max_payload_ / sizeof(FeatureId),
                                            static_cast<std::size_t>(kMaxLookupFloats / dims_[t]));
      const std::size_t end = batch.tables[t].server_begin[s + 1];
      for (std::size_t first = batch.tables[t].server_begin[s]; first < end; first += most) {
        fn(s, t, first, std::min(most, end - first));
      }
    }
  }
}

std::int64_t EmbeddingClient::lookup_messages(const data::IdBatch& batch) const {
  std::int64_t messages = 0;
  for_each_piece(batch, false, [&](auto, auto, auto, auto) { ++messages; });
  return messages;
}

void EmbeddingClient::send_lookup(TrainerId trainer, Step step, bool evaluation,
                                  const data::IdBatch& batch, const Landing& landing) {
  const comm::RowLayout layout(unique_rows(batch), dims_);
  for_each_piece(
      batch, false, [&](std::size_t s, std::size_t t, std::size_t first, std::size_t count) {
        comm::MessageHeader header;
        header.type = comm::MessageType::lookup;
        header.table = static_cast<std::uint32_t>(t);
        header.trainer = raw(trainer);
        header.step = step;
        header.count = static_cast<std::uint32_t>(count);
        header.flags = evaluation ? comm::kEvaluation : 0;
        header.reply_rank = raw(landing.rank);
        header.reply_offset =
            landing.offset + (layout.offset[t] + static_cast<std::int64_t>(first) * dims_[t]) *
                                 static_cast<std::int64_t>(sizeof(float));
        const auto payload =
            comm::compose_blocking(servers_[s].outbox, header, count * sizeof(FeatureId), pump_);
        std::memcpy(payload.data(), batch.tables[t].unique.data() + first,
                    count * sizeof(FeatureId));
        servers_[s].outbox.commit();
      });
}

void EmbeddingClient::send_gradients(TrainerId trainer, Step step, const data::IdBatch& batch,
                                     std::span<const float> gradients) {
  comm::MessageHeader header;
  header.trainer = raw(trainer);
  header.step = step;
  if (!gradients.empty()) {
    const comm::RowLayout layout(unique_rows(batch), dims_);
    header.type = comm::MessageType::gradients;
    for_each_piece(
        batch, true, [&](std::size_t s, std::size_t t, std::size_t first, std::size_t count) {
          header.table = static_cast<std::uint32_t>(t);
          header.count = static_cast<std::uint32_t>(count);
          const std::size_t id_bytes = count * sizeof(FeatureId);
          const std::size_t row_bytes = count * static_cast<std::size_t>(dims_[t]) * sizeof(float);
          const auto payload =
              comm::compose_blocking(servers_[s].outbox, header, id_bytes + row_bytes, pump_);
          std::memcpy(payload.data(), batch.tables[t].unique.data() + first, id_bytes);
          std::memcpy(
              payload.data() + id_bytes,
              gradients.data() + layout.offset[t] + static_cast<std::int64_t>(first) * dims_[t],
              row_bytes);
          servers_[s].outbox.commit();
        });
  }
  header.type = comm::MessageType::pushed;
  header.table = 0;
  header.count = 0;
  for (Peer& server : servers_) {
    comm::compose_blocking(server.outbox, header, 0, pump_);
    server.outbox.commit();
  }
}

void EmbeddingClient::send_fence(comm::FenceKind kind, Step step, ExitCode code) {
  comm::MessageHeader header;
  header.type = comm::MessageType::fence;
  header.detail = static_cast<std::uint32_t>(kind);
  header.step = step;
  header.count = static_cast<std::uint32_t>(code);
  send_to_all(header, fence_);
}

void EmbeddingClient::ask_statistics() {
  comm::MessageHeader header;
  header.type = comm::MessageType::statistics;
  send_to_all(header, asked_);
}

void EmbeddingClient::send_to_all(const comm::MessageHeader& header, Answers& answers) {
  answers.tables.assign(dims_.size(), {});
  answers.pending = servers_.size();
  for (Peer& server : servers_) {
    comm::compose_blocking(server.outbox, header, 0, pump_);
    server.outbox.commit();
  }
}

void EmbeddingClient::receive(const std::function<void(const comm::MessageHeader&)>& looked_up) {
  for (Peer& server : servers_) {
    while (const auto message = server.inbox.peek()) {
      const auto& header = message->header;
      if (header.type == comm::MessageType::looked_up) {
        looked_up(header);
      } else if (header.type == comm::MessageType::fence_done ||
                 header.type == comm::MessageType::statistics) {
        if (const auto bytes = server.blob.add(*message, server.inbox)) {
          add(header.type == comm::MessageType::statistics ? asked_ : fence_, *bytes, server.inbox,
              header);
        }
      } else {
        server.inbox.refuse(header, "type");
      }
      server.inbox.pop();
    }
  }
}

void EmbeddingClient::add(Answers& answers, const std::vector<std::byte>& bytes,
                          const comm::Inbox& inbox, const comm::MessageHeader& header) {
  if (answers.pending == 0) inbox.refuse(header, "type");
  if (bytes.size() != answers.tables.size() * sizeof(store::TableStatistics)) {
    inbox.refuse(header, "length");
  }
  for (std::size_t t = 0; t < answers.tables.size(); ++t) {
    store::TableStatistics table;
    std::memcpy(&table, bytes.data() + t * sizeof(table), sizeof(table));
    answers.tables[t] += table;
  }
  --answers.pending;
}

}  // namespace satrap::worker
