#include "worker/remote.hpp"

#include <algorithm>

#include "comm/protocol/bytes.hpp"

namespace satrap::worker {

namespace {

using comm::ByteReader;
using comm::ByteWriter;

/// Indices into at most 65,536 unique rows cross as u16.
constexpr std::int64_t kNarrowRows = std::int64_t{1} << 16;

bool one_id_each(const data::SlotRows& slot) {
  return slot.indices.size() + 1 == slot.offsets.size() &&
         std::ranges::adjacent_find(slot.offsets, [](auto a, auto b) { return b != a + 1; }) ==
             slot.offsets.end();
}

void write_slot(ByteWriter& out, const data::SlotRows& slot) {
  const bool single = one_id_each(slot);
  const bool narrow = std::ranges::all_of(slot.indices, [](auto i) { return i < kNarrowRows; });
  out.value(single);
  out.value(narrow);
  if (narrow) {
    out.array(std::vector<std::uint16_t>(slot.indices.begin(), slot.indices.end()));
  } else {
    out.array(slot.indices);
  }
  if (!single) out.array(slot.offsets);
}

data::SlotRows read_slot(ByteReader& in) {
  data::SlotRows slot;
  const bool single = in.value<bool>();
  if (in.value<bool>()) {
    const auto narrow = in.array<std::uint16_t>();
    slot.indices.assign(narrow.begin(), narrow.end());
  } else {
    slot.indices = in.array<std::uint32_t>();
  }
  if (single) {
    slot.offsets.resize(slot.indices.size() + 1);
    for (std::size_t i = 0; i < slot.offsets.size(); ++i) {
      slot.offsets[i] = static_cast<std::uint32_t>(i);
    }
  } else {
    slot.offsets = in.array<std::uint32_t>();
  }
  return slot;
}

void write_batch(ByteWriter& out, const ReadyBatch& batch) {
  out.value(batch.kind);
  out.value(batch.step);
  out.value(batch.next);
  out.value(batch.global_samples);
  out.value(batch.fraction);
  out.value(batch.bad_rows);
  out.value(batch.staleness);
  out.value(batch.slot);
  out.array(batch.unique);
  out.array(batch.statistics);
  out.value(batch.ids != nullptr);
  if (!batch.ids) return;
  out.array(batch.ids->labels);
  out.array(batch.ids->dense);
  out.value(static_cast<std::uint64_t>(batch.ids->slots.size()));
  for (const auto& slot : batch.ids->slots) write_slot(out, slot);
}

ReadyBatch read_batch(ByteReader& in) {
  ReadyBatch batch;
  batch.kind = in.value<ReadyBatch::Kind>();
  batch.step = in.value<Step>();
  batch.next = in.value<data::Position>();
  batch.global_samples = in.value<std::int64_t>();
  batch.fraction = in.value<double>();
  batch.bad_rows = in.value<std::int64_t>();
  batch.staleness = in.value<std::int64_t>();
  batch.slot = in.value<std::int64_t>();
  batch.unique = in.array<std::int64_t>();
  batch.statistics = in.array<store::TableStatistics>();
  if (!in.value<bool>()) return batch;
  auto ids = std::make_shared<data::IdBatch>();
  ids->labels = in.array<float>();
  ids->dense = in.array<float>();
  const auto slots = in.value<std::uint64_t>();
  for (std::uint64_t i = 0; i < slots; ++i) ids->slots.push_back(read_slot(in));
  batch.ids = std::move(ids);
  return batch;
}

comm::MessageHeader header_of(comm::MessageType type, TrainerId trainer, Step step) {
  comm::MessageHeader header;
  header.type = type;
  header.trainer = raw(trainer);
  header.step = step;
  return header;
}

}  // namespace

RingPort::RingPort(comm::Fabric& fabric, TrainerId trainer, WorldRank rank, comm::Pump pump)
    : trainer_(trainer),
      outbox_(fabric.to(rank)),
      inbox_(fabric.from(rank), fmt::format("trainer {}", raw(trainer))),
      pump_(std::move(pump)) {}

void RingPort::deliver(const ReadyBatch& batch) {
  ByteWriter out;
  write_batch(out, batch);
  comm::send_blob(outbox_, header_of(comm::MessageType::batch, trainer_, batch.step), out.bytes(),
                  pump_);
}

std::optional<std::variant<Finished, Command>> RingPort::poll() {
  while (const auto message = inbox_.peek()) {
    const comm::MessageHeader header = message->header;
    if (header.type == comm::MessageType::command) {
      inbox_.pop();
      return Command{static_cast<Command::Kind>(header.detail), header.step,
                     static_cast<ExitCode>(header.count)};
    }
    if (header.type != comm::MessageType::push) inbox_.refuse(header, "type");
    const auto bytes = blob_.add(*message, inbox_);
    inbox_.pop();
    if (bytes) {
      ByteReader in(*bytes);
      return Finished{header.step, in.array<float>()};
    }
  }
  return std::nullopt;
}

void RingPort::answer(const CommandDone& done) {
  ByteWriter out;
  out.array(done.tables);
  comm::send_blob(outbox_, header_of(comm::MessageType::command_done, trainer_, 0), out.bytes(),
                  pump_);
}

RemotePipeline::RemotePipeline(comm::Fabric& fabric, TrainerId trainer, WorldRank worker,
                               Mailbox& mailbox, comm::Pump pump)
    : trainer_(trainer),
      mailbox_(mailbox),
      outbox_(fabric.to(worker)),
      inbox_(fabric.from(worker), fmt::format("worker rank {}", raw(worker))),
      // The worker may be waiting for room in its ring to us: without receive() both would wait.
      pump_([this, pump = std::move(pump)] {
        pump();
        receive();
      }) {}

bool RemotePipeline::turn() {
  const bool received = receive();
  return send() || received;
}

bool RemotePipeline::receive() {
  bool worked = false;
  while (const auto message = inbox_.peek()) {
    const comm::MessageHeader header = message->header;
    if (header.type != comm::MessageType::batch && header.type != comm::MessageType::command_done) {
      inbox_.refuse(header, "type");
    }
    const auto bytes = blob_.add(*message, inbox_);
    inbox_.pop();
    worked = true;
    if (!bytes) continue;
    ByteReader in(*bytes);
    if (header.type == comm::MessageType::batch) {
      mailbox_.ready.push(read_batch(in));
    } else {
      mailbox_.done.push({in.array<store::TableStatistics>()});
      stopped_ = stopping_;
    }
  }
  return worked;
}

bool RemotePipeline::send() {
  auto message = mailbox_.from_trainer.try_pop();
  if (!message) return false;
  if (const auto* finished = std::get_if<Finished>(&*message)) {
    ByteWriter out;
    out.array(finished->gradients);
    comm::send_blob(outbox_, header_of(comm::MessageType::push, trainer_, finished->step),
                    out.bytes(), pump_);
  } else {
    const auto& command = std::get<Command>(*message);
    auto header = header_of(comm::MessageType::command, trainer_, command.step);
    header.detail = static_cast<std::uint32_t>(command.kind);
    header.count = static_cast<std::uint32_t>(command.exit_code);
    comm::compose_blocking(outbox_, header, 0, pump_);
    outbox_.commit();
    stopping_ = command.kind == Command::Kind::stop;
  }
  return true;
}

}  // namespace satrap::worker
