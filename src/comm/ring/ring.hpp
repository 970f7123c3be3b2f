#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace satrap::comm {

class Fabric;

/// Messages in a ring are contiguous and 64-byte aligned; a message that would wrap is preceded by
/// a filler that the reader passes over.
///
///     | length u64 | payload ... pad to 64 |   length = kFiller: go to the start of the ring
///
/// Head and tail are byte counts that only grow; their place in the ring is modulo its size.

/// The producing end: messages are composed in a local copy of the ring, and Fabric::publish() puts
/// what is new in at most two pieces.
class RingWriter {
 public:
  /// Space for a message of `bytes`, to be filled and then committed, or nothing if the ring has no
  /// room (counted in waits(): try again after Fabric::progress()). Throws InternalError above
  /// max_message().
  std::optional<std::span<std::byte>> reserve(std::int64_t bytes);
  /// The reserved message is complete. It is sent by the next Fabric::publish().
  void commit();

  /// A quarter of the ring less the overhead.
  std::int64_t max_message() const noexcept;
  /// How often reserve() found no room.
  std::int64_t waits() const noexcept { return waits_; }
  std::int64_t messages() const noexcept { return messages_; }
  std::int64_t bytes() const noexcept;

  // The rest is Fabric's.
  RingWriter(std::int64_t ring_bytes, const std::uint64_t* credit);
  ~RingWriter();
  RingWriter(const RingWriter&) = delete;
  RingWriter& operator=(const RingWriter&) = delete;

 private:
  friend class Fabric;

  std::byte* mirror_ = nullptr;  ///< Local copy of the ring.
  std::int64_t size_ = 0;
  const std::uint64_t* credit_;  ///< The consumer's head, in this rank's window.
  std::uint64_t tail_ = 0;       ///< End of what is committed.
  std::uint64_t published_ = 0;  ///< End of what has been put.
  std::int64_t reserved_ = 0;
  std::int64_t waits_ = 0;
  std::int64_t messages_ = 0;
};

/// The consuming end, over this rank's window memory.
class RingReader {
 public:
  /// The oldest message, valid until pop(), or nothing. Throws InternalError if what lies there is
  /// not a message.
  std::optional<std::span<const std::byte>> peek();
  void pop();

  RingReader(const std::byte* ring, std::int64_t ring_bytes, const std::uint64_t* tail);

 private:
  friend class Fabric;

  const std::byte* ring_;
  std::int64_t size_;
  const std::uint64_t* tail_;  ///< The producer's tail, in this rank's window.
  std::uint64_t head_ = 0;
  std::uint64_t credited_ = 0;  ///< The head that the producer knows.
};

}  // namespace satrap::comm
