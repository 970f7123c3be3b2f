#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "comm/ring/ring.hpp"
#include "core/types.hpp"

namespace satrap::comm {

enum class MessageType : std::uint32_t {
  // From a requester (embedding worker, or trainer without workers) to a server, and back.
  lookup = 1,      ///< ids [count]; the rows go to (reply_rank, reply_offset)
  looked_up = 2,   ///< `count` rows of a lookup have been put; `detail` is their staleness
  gradients = 3,   ///< ids [count], gradients [count, dim]
  pushed = 4,      ///< every gradient of (trainer, step) has been sent on this ring
  fence = 5,       ///< `detail` is a FenceKind; later messages wait until all requesters sent it
  fence_done = 6,  ///< payload: the server's statistics
  statistics = 7,  ///< asks for them at once; the answer has the same type
  // Between a worker and its trainers.
  batch = 16,         ///< part of a serialised batch
  push = 17,          ///< part of a batch's gradients
  command = 18,       ///< `detail` is a CommandKind
  command_done = 19,  ///< part of the answer
};

enum class FenceKind : std::uint32_t { evaluate = 1, save = 2, stop = 3 };

/// What each message starts with.
///
///     0      4     8      12       16    24        32     36      40            48     52    56 60
///     | magic| type| table| trainer| step| sequence| count| detail| reply_offset| rank | part|
///     parts| 0 |
struct MessageHeader {
  static constexpr std::uint32_t kMagic = 0x70617273;  // "srap"

  std::uint32_t magic = kMagic;
  MessageType type{};
  std::uint32_t table = 0;
  std::int32_t trainer = 0;
  std::int64_t step = 0;
  std::uint64_t sequence = 0;  ///< Counts the messages of one ring from 0.
  std::uint32_t count = 0;
  std::uint32_t detail = 0;
  std::int64_t reply_offset = 0;
  std::int32_t reply_rank = 0;
  std::uint32_t part = 0;
  std::uint32_t parts = 1;
  std::uint32_t flags = 0;
};
static_assert(sizeof(MessageHeader) == 64 && std::is_trivially_copyable_v<MessageHeader>);

/// Flags of a lookup.
inline constexpr std::uint32_t kEvaluation = 1;  ///< Nothing in the table may change.

/// A received message; both views are valid until the inbox's pop().
struct Message {
  MessageHeader header;
  std::span<const std::byte> payload;
};

/// The sending end of a ring: numbers the messages.
class Outbox {
 public:
  explicit Outbox(RingWriter& ring) : ring_(&ring) {}

  /// Space for the payload of a message with `header`, or nothing if the ring has no room. commit()
  /// sends it (with the next Fabric::publish()).
  std::optional<std::span<std::byte>> compose(MessageHeader header, std::size_t payload_bytes);
  void commit() { ring_->commit(); }

  /// The longest payload.
  std::size_t max_payload() const noexcept;
  std::int64_t waits() const noexcept { return ring_->waits(); }

 private:
  RingWriter* ring_;
  std::uint64_t sequence_ = 0;
};

/// The receiving end: checks magic and sequence, and throws InternalError, naming `peer` and the
/// field, for a message that cannot be right.
class Inbox {
 public:
  Inbox(RingReader& ring, std::string peer) : ring_(&ring), peer_(std::move(peer)) {}

  std::optional<Message> peek();
  void pop();

  /// For a message whose meaning is wrong: throws InternalError naming the peer.
  [[noreturn]] void refuse(const MessageHeader& header, std::string_view field) const;

 private:
  RingReader* ring_;
  std::string peer_;
  std::uint64_t sequence_ = 0;
};

/// One turn of a rank's progress loop short of sending anything new: publish, progress, take in
/// replies. What a sender calls while a ring has no room for it.
using Pump = std::function<void()>;

/// Composes a message, calling `pump` until there is room.
std::span<std::byte> compose_blocking(Outbox& outbox, const MessageHeader& header,
                                      std::size_t payload_bytes, const Pump& pump);

/// Sends `bytes` as as many messages as it takes; a BlobReceiver puts them together.
void send_blob(Outbox& outbox, MessageHeader header, std::span<const std::byte> bytes,
               const Pump& pump);

class BlobReceiver {
 public:
  /// Takes one part; the whole when it was the last one.
  std::optional<std::vector<std::byte>> add(const Message& message, const Inbox& inbox);

 private:
  std::vector<std::byte> bytes_;
  std::uint32_t next_part_ = 0;
};

}  // namespace satrap::comm
