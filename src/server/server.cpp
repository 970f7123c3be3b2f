#include "server/server.hpp"

#include <algorithm>
#include <cstring>

#include "checkpoint/checkpoint.hpp"
#include "comm/backoff.hpp"
#include "core/log.hpp"
#include "nn/optimizer.hpp"

namespace satrap::server {

namespace {

// Rows of several lookups share the flushes of one publish, up to this many floats.
constexpr std::size_t kStagingFloats = std::size_t{1} << 20;

constexpr int kMessagesPerTurn = 64;

/// Ids and, with a dim above 0, gradients behind them: payload | ids [count] | floats [count, dim]
/// |.
struct RowsPayload {
  std::span<const FeatureId> ids;
  const float* values;
};

RowsPayload rows_payload(const comm::Inbox& inbox, const comm::Message& message, std::int64_t dim) {
  const std::size_t count = message.header.count;
  const std::size_t bytes =
      count * (sizeof(FeatureId) + static_cast<std::size_t>(dim) * sizeof(float));
  if (message.payload.size() != bytes) inbox.refuse(message.header, "count");
  const auto* ids = reinterpret_cast<const FeatureId*>(message.payload.data());
  return {{ids, count}, reinterpret_cast<const float*>(ids + count)};
}

}  // namespace

Server::Server(const config::Config& config, comm::Fabric& fabric, std::span<store::Table> tables,
               ServerOptions options)
    : config_(config),
      fabric_(fabric),
      tables_(tables),
      options_(std::move(options)),
      merging_(config.train.mode == config::Mode::sync && options_.trainers > 1),
      pushed_(static_cast<std::size_t>(options_.trainers), options_.start),
      applied_(options_.start),
      latest_(options_.start),
      staging_(kStagingFloats) {
  for (const WorldRank rank : options_.requesters) {
    requesters_.push_back({comm::Outbox(fabric.to(rank)),
                           comm::Inbox(fabric.from(rank), fmt::format("rank {}", raw(rank)))});
  }
  if (merging_) {
    for (const store::Table& table : tables_) mergers_.emplace_back(table.dim());
  }
}

ExitCode Server::run() {
  comm::Backoff backoff(config_.transport.spin_us, config_.transport.max_sleep_us);
  while (!stopped_) turn() ? backoff.reset() : backoff.idle();
  return static_cast<ExitCode>(fence_.count);
}

bool Server::turn() {
  fabric_.progress();
  bool worked = false;
  for (Requester& requester : requesters_) worked |= serve(requester);
  if (fenced_ == requesters_.size()) finish_fence();
  publish();
  return worked;
}

bool Server::serve(Requester& requester) {
  int handled = 0;
  while (handled < kMessagesPerTurn && !requester.fenced) {
    const auto message = requester.inbox.peek();
    if (!message || !handle(requester, *message)) break;
    requester.inbox.pop();
    ++handled;
  }
  return handled > 0;
}

/// False if the message has to wait.
bool Server::handle(Requester& requester, const comm::Message& message) {
  const auto& header = message.header;
  if (header.trainer < 0 || header.trainer >= options_.trainers) {
    requester.inbox.refuse(header, "trainer");
  }
  switch (header.type) {
    case comm::MessageType::lookup:
      return look_up(requester, message);
    case comm::MessageType::gradients:
      take_gradients(requester, message);
      return true;
    case comm::MessageType::pushed:
      take_pushed(requester, header);
      return true;
    case comm::MessageType::statistics:
      send_statistics(requester, header);
      return true;
    case comm::MessageType::fence:
      if (fenced_ > 0 && (header.detail != fence_.detail || header.step != fence_.step)) {
        requester.inbox.refuse(header, "fence");
      }
      fence_ = header;
      requester.fenced = true;
      ++fenced_;
      return true;
    default:
      requester.inbox.refuse(header, "type");
  }
}

bool Server::look_up(Requester& requester, const comm::Message& message) {
  const auto& header = message.header;
  const bool evaluation = (header.flags & comm::kEvaluation) != 0;
  if (config_.train.mode == config::Mode::sync && !evaluation && header.step > applied_ + 1) {
    return false;
  }
  store::Table& table = table_of(requester, header);
  const auto payload = rows_payload(requester.inbox, message, 0);
  const auto floats = payload.ids.size() * static_cast<std::size_t>(table.dim());
  if (floats > staging_.size()) requester.inbox.refuse(header, "count");
  if (staged_ + floats > staging_.size()) publish();

  comm::MessageHeader reply = header;
  reply.type = comm::MessageType::looked_up;
  // How many of the trainer's earlier batches this lookup does not see.
  const Step pushed = pushed_[static_cast<std::size_t>(header.trainer)];
  reply.detail = evaluation ? 0 : static_cast<std::uint32_t>(header.step - 1 - pushed);
  if (!requester.outbox.compose(reply, 0)) return false;

  if (options_.before_lookup) options_.before_lookup(header);
  float* rows = staging_.data() + staged_;
  if (evaluation) {
    table.peek(payload.ids, rows);
  } else {
    latest_ = std::max(latest_, header.step);  // one trainer may be ahead of the others
    table.lookup(payload.ids, latest_, rows);
  }
  staged_ += floats;
  fabric_.put(WorldRank{header.reply_rank}, header.reply_offset,
              std::as_bytes(std::span(rows, floats)));
  requester.outbox.commit();
  return true;
}

void Server::take_gradients(Requester& requester, const comm::Message& message) {
  const auto& header = message.header;
  if (header.step <= pushed_[static_cast<std::size_t>(header.trainer)]) {
    requester.inbox.refuse(header, "step");
  }
  store::Table& table = table_of(requester, header);
  const auto payload = rows_payload(requester.inbox, message, table.dim());
  if (merging_) {
    mergers_[header.table].add(TrainerId{header.trainer}, payload.ids, payload.values);
  } else {
    table.apply(payload.ids, payload.values, context(header.step));
  }
}

void Server::take_pushed(Requester& requester, const comm::MessageHeader& header) {
  Step& pushed = pushed_[static_cast<std::size_t>(header.trainer)];
  if (header.step != pushed + 1) requester.inbox.refuse(header, "step");
  pushed = header.step;
  const Step all = *std::min_element(pushed_.begin(), pushed_.end());
  if (all > applied_) {
    if (merging_) apply_step(all);
    applied_ = all;
  }
}

void Server::apply_step(Step step) {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    mergers_[t].merge();
    tables_[t].apply(mergers_[t].ids(), mergers_[t].gradients(), context(step));
    mergers_[t].clear();
  }
}

void Server::finish_fence() {
  const auto kind = static_cast<comm::FenceKind>(fence_.detail);
  if (kind == comm::FenceKind::save) {
    checkpoint::save_shard(
        options_.checkpoint_directory(fence_.step),
        RowPlacement(static_cast<std::uint32_t>(config_.checkpoint.virtual_shards),
                     static_cast<std::int32_t>(config_.roles.servers)),
        options_.id, tables_);
  }
  comm::MessageHeader done = fence_;
  done.type = comm::MessageType::fence_done;
  done.table = static_cast<std::uint32_t>(raw(options_.id));
  for (Requester& requester : requesters_) {
    send_statistics(requester, done);
    requester.fenced = false;
  }
  fenced_ = 0;
  stopped_ = kind == comm::FenceKind::stop;
}

void Server::send_statistics(Requester& requester, comm::MessageHeader header) {
  std::vector<store::TableStatistics> statistics;
  for (const store::Table& table : tables_) statistics.push_back(table.statistics());
  comm::send_blob(requester.outbox, header, std::as_bytes(std::span(statistics)), [this] {
    fabric_.publish();
    fabric_.progress();
  });
}

void Server::publish() {
  fabric_.publish();
  staged_ = 0;
}

store::Table& Server::table_of(Requester& requester, const comm::MessageHeader& header) {
  if (header.table >= tables_.size()) requester.inbox.refuse(header, "table");
  return tables_[header.table];
}

store::UpdateContext Server::context(Step step) const {
  const bool scheduled = config_.schedule.sparse;
  return {step, scheduled ? nn::schedule_factor(config_.schedule, step) : 1.0f};
}

}  // namespace satrap::server
