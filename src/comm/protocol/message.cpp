#include "comm/protocol/message.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.hpp"

namespace satrap::comm {

std::optional<std::span<std::byte>> Outbox::compose(MessageHeader header,
                                                    std::size_t payload_bytes) {
  const auto space =
      ring_->reserve(static_cast<std::int64_t>(sizeof(MessageHeader) + payload_bytes));
  if (!space) return std::nullopt;
  header.sequence = sequence_++;
  std::memcpy(space->data(), &header, sizeof(header));
  return space->subspan(sizeof(header), payload_bytes);
}

std::size_t Outbox::max_payload() const noexcept {
  return static_cast<std::size_t>(ring_->max_message()) - sizeof(MessageHeader);
}

std::optional<Message> Inbox::peek() {
  const auto bytes = ring_->peek();
  if (!bytes) return std::nullopt;
  Message message;
  if (bytes->size() < sizeof(MessageHeader)) refuse(message.header, "length");
  std::memcpy(&message.header, bytes->data(), sizeof(MessageHeader));
  message.payload = bytes->subspan(sizeof(MessageHeader));
  if (message.header.magic != MessageHeader::kMagic) refuse(message.header, "magic");
  if (message.header.sequence != sequence_) refuse(message.header, "sequence number");
  return message;
}

void Inbox::pop() {
  ring_->pop();
  ++sequence_;
}

void Inbox::refuse(const MessageHeader& header, std::string_view field) const {
  throw InternalError(
      fmt::format("a message from {} cannot be accepted: its {} is wrong", peer_, field),
      fmt::format("type {}, table {}, trainer {}, step {}, count {}, sequence {}",
                  static_cast<std::uint32_t>(header.type), header.table, header.trainer,
                  header.step, header.count, header.sequence));
}

std::span<std::byte> compose_blocking(Outbox& outbox, const MessageHeader& header,
                                      std::size_t payload_bytes, const Pump& pump) {
  for (;;) {
    if (const auto space = outbox.compose(header, payload_bytes)) return *space;
    pump();
  }
}

void send_blob(Outbox& outbox, MessageHeader header, std::span<const std::byte> bytes,
               const Pump& pump) {
  const std::size_t part_bytes = outbox.max_payload();
  header.parts = static_cast<std::uint32_t>(
      std::max<std::size_t>(1, (bytes.size() + part_bytes - 1) / part_bytes));
  for (header.part = 0; header.part < header.parts; ++header.part) {
    const auto piece = bytes.subspan(header.part * part_bytes,
                                     std::min(part_bytes, bytes.size() - header.part * part_bytes));
    const auto space = compose_blocking(outbox, header, piece.size(), pump);
    std::copy(piece.begin(), piece.end(), space.begin());
    outbox.commit();
  }
}

std::optional<std::vector<std::byte>> BlobReceiver::add(const Message& message,
                                                        const Inbox& inbox) {
  if (message.header.part != next_part_ || message.header.part >= message.header.parts) {
    inbox.refuse(message.header, "part number");
  }
  bytes_.insert(bytes_.end(), message.payload.begin(), message.payload.end());
  if (++next_part_ < message.header.parts) return std::nullopt;
  next_part_ = 0;
  return std::exchange(bytes_, {});
}

}  // namespace satrap::comm
