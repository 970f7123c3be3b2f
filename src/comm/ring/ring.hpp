#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace satrap::comm {

/// A ring from one rank to another (or to itself), agreed upon before the fabric is made.
struct Link {
  WorldRank from;
  WorldRank to;
  std::int64_t bytes;  ///< Of the ring; a multiple of 64, at least 4096.
};

/// Messages in a ring are contiguous and 64-byte aligned; a message that would wrap is preceded by
/// a filler that the reader passes over.
///
///     | length u64 | payload ... pad to 64 |   length = kFiller: go to the start of the ring
///
/// Head and tail are byte counts that only grow; their place in the ring is modulo its size.
/// A message takes at most a quarter of the ring, so with its filler at most half. The reader
/// returns credit for every quarter that it has read. So a writer that finds no room has more than
/// half of the ring unread or uncredited, of which the reader will return credit once it has read
/// it: neither waits for the other forever.
inline constexpr std::int64_t kRingLine = 64;
inline constexpr std::int64_t kRingHeader = sizeof(std::uint64_t);
inline constexpr std::uint64_t kFiller = ~std::uint64_t{0};

/// The longest payload in a ring of `ring_bytes`.
constexpr std::int64_t max_message_of(std::int64_t ring_bytes) noexcept {
  return ring_bytes / 4 - kRingHeader;
}

/// The producing end. Where the ring is memory that both share, messages are composed in place;
/// elsewhere in a local copy of the ring, of which Fabric::publish() puts what is new in at most
/// two pieces.
class RingWriter {
 public:
  /// Space for a message of `bytes`, to be filled and then committed, or nothing if the ring has no
  /// room (counted in waits(): try again after Fabric::progress()). Another reserve() before
  /// commit() replaces this one. Throws InternalError above max_message().
  std::optional<std::span<std::byte>> reserve(std::int64_t bytes);
  /// The reserved message is complete. It is sent by the next Fabric::publish().
  void commit();

  /// A quarter of the ring less the overhead.
  std::int64_t max_message() const noexcept { return max_message_of(size_); }
  /// How many messages found no room at first.
  std::int64_t waits() const noexcept { return waits_; }
  std::int64_t messages() const noexcept { return messages_; }
  /// Committed bytes, lengths and padding included.
  std::int64_t bytes() const noexcept { return static_cast<std::int64_t>(tail_); }

  // The rest is Fabric's.

  /// `ring` is the consumer's memory, or null to compose in a local copy; `credit` is the
  /// consumer's head in memory that the consumer writes.
  RingWriter(const Link& link, std::byte* ring, std::uint64_t* credit);
  RingWriter(const RingWriter&) = delete;
  RingWriter& operator=(const RingWriter&) = delete;

  struct Piece {
    std::int64_t offset = 0;  ///< In the ring.
    std::span<const std::byte> bytes;
  };
  bool has_news() const noexcept { return published_ != tail_; }
  /// What is committed and not published; the second piece may be empty. Of a filler only the line
  /// with its length is part of it.
  std::array<Piece, 2> news() const;
  /// All news have been put. Returns the tail that tells the consumer, in memory that stays.
  const std::uint64_t& publish() noexcept { return published_ = tail_; }

 private:
  struct alignas(kRingLine) Line {
    std::byte bytes[kRingLine];
  };

  std::uint64_t credit() const;
  void write_length(std::uint64_t place, std::uint64_t length) noexcept;

  Link link_;
  std::uint64_t size_;
  std::vector<Line> copy_;  ///< Empty if the ring is shared.
  std::byte* ring_;         ///< The ring or its local copy.
  std::uint64_t* credit_;   ///< In this rank's window.
  std::uint64_t tail_ = 0;  ///< End of what is committed.
  std::uint64_t published_ = 0;
  std::uint64_t filler_ = 0;    ///< Where the newest filler lies, if not before published_.
  std::uint64_t reserved_ = 0;  ///< Where the reserved message starts.
  std::optional<std::int64_t> reserved_bytes_;
  bool waiting_ = false;
  std::int64_t waits_ = 0;
  std::int64_t messages_ = 0;
};

/// The consuming end, over this rank's window memory.
class RingReader {
 public:
  /// The oldest message, valid until pop(), or nothing. Throws InternalError if what lies there is
  /// not a message.
  std::optional<std::span<const std::byte>> peek();
  /// Passes over the message that peek() returned.
  void pop();

  // The rest is Fabric's.

  /// `tail` is the producer's tail in memory that the producer writes.
  RingReader(const Link& link, const std::byte* ring, std::uint64_t* tail);
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;

  std::int64_t max_message() const noexcept { return max_message_of(link_.bytes); }
  bool owes_credit() const noexcept { return head_ - credited_ >= size_ / 4; }
  /// Returns the head that tells the producer, in memory that stays.
  const std::uint64_t& give_credit() noexcept { return credited_ = head_; }

 private:
  void read_tail();
  std::uint64_t length_at_head() const noexcept;
  void skip_filler();
  void check_length(std::uint64_t length) const;

  Link link_;
  std::uint64_t size_;
  const std::byte* ring_;
  std::uint64_t* tail_;           ///< In this rank's window.
  std::uint64_t known_tail_ = 0;  ///< As last read.
  std::uint64_t head_ = 0;
  std::uint64_t next_ = 0;      ///< End of the message that peek() returned; head_: of none.
  std::uint64_t credited_ = 0;  ///< The head that the producer knows.
};

}  // namespace satrap::comm
