#include "comm/ring/ring.hpp"

#include <atomic>
#include <bit>
#include <cstring>

#include "core/error.hpp"

namespace satrap::comm {

static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

namespace {

/// What a message of `bytes` takes in the ring.
constexpr std::uint64_t footprint(std::uint64_t bytes) noexcept {
  constexpr auto kLine = static_cast<std::uint64_t>(kRingLine);
  return (bytes + static_cast<std::uint64_t>(kRingHeader) + kLine - 1) / kLine * kLine;
}

[[noreturn]] void refuse(const Link& link, std::string_view field, std::uint64_t value,
                         std::string_view why) {
  throw InternalError(fmt::format("ring from rank {} to rank {}: {} is {}", raw(link.from),
                                  raw(link.to), field, value),
                      why, "memory of the ring was overwritten or MPI delivered it damaged");
}

/// Reads a word that another process writes; what it put before is visible after.
std::uint64_t load(std::uint64_t* word) noexcept {
  return std::atomic_ref(*word).load(std::memory_order_acquire);
}

}  // namespace

RingWriter::RingWriter(const Link& link, std::byte* ring, std::uint64_t* credit)
    : link_(link),
      size_(static_cast<std::uint64_t>(link.bytes)),
      copy_(ring != nullptr ? 0 : static_cast<std::size_t>(link.bytes / kRingLine)),
      ring_(ring != nullptr ? ring : copy_.front().bytes),
      credit_(credit) {}

std::uint64_t RingWriter::credit() const {
  const std::uint64_t credit = load(credit_);
  if (credit > published_) refuse(link_, "the reader's head", credit, "beyond the tail");
  return credit;
}

std::optional<std::span<std::byte>> RingWriter::reserve(std::int64_t bytes) {
  SATRAP_EXPECT(bytes >= 0);
  if (bytes > max_message()) {
    throw InternalError(
        fmt::format("a message of {} bytes from rank {} to rank {} is too long for its ring", bytes,
                    raw(link_.from), raw(link_.to)),
        fmt::format("the limit is {} bytes, a quarter of the ring", max_message()),
        "raise transport.ring_bytes");
  }
  const std::uint64_t length = footprint(static_cast<std::uint64_t>(bytes));
  const std::uint64_t lap_left = size_ - tail_ % size_;
  reserved_ = length <= lap_left ? tail_ : tail_ + lap_left;
  if (reserved_ + length - credit() > size_) {
    reserved_bytes_.reset();
    if (!waiting_) ++waits_;
    waiting_ = true;
    return std::nullopt;
  }
  waiting_ = false;
  reserved_bytes_ = bytes;
  return std::span(ring_ + reserved_ % size_ + kRingHeader, static_cast<std::size_t>(bytes));
}

void RingWriter::commit() {
  SATRAP_EXPECT(reserved_bytes_.has_value());
  const auto bytes = static_cast<std::uint64_t>(*reserved_bytes_);
  if (reserved_ != tail_) {
    filler_ = tail_;
    write_length(filler_, kFiller);
  }
  write_length(reserved_, bytes);
  tail_ = reserved_ + footprint(bytes);
  reserved_bytes_.reset();
  ++messages_;
}

void RingWriter::write_length(std::uint64_t place, std::uint64_t length) noexcept {
  std::memcpy(ring_ + place % size_, &length, sizeof length);
}

std::array<RingWriter::Piece, 2> RingWriter::news() const {
  const auto piece = [&](std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t offset = begin % size_;
    return Piece{static_cast<std::int64_t>(offset),
                 {ring_ + offset, static_cast<std::size_t>(end - begin)}};
  };
  const std::uint64_t lap_end = (published_ / size_ + 1) * size_;
  if (tail_ <= lap_end) return {piece(published_, tail_), Piece{}};
  const bool has_filler = filler_ >= published_;
  const std::uint64_t end = has_filler ? filler_ + static_cast<std::uint64_t>(kRingLine) : lap_end;
  return {piece(published_, end), piece(lap_end, tail_)};
}

RingReader::RingReader(const Link& link, const std::byte* ring, std::uint64_t* tail)
    : link_(link), size_(static_cast<std::uint64_t>(link.bytes)), ring_(ring), tail_(tail) {}

std::optional<std::span<const std::byte>> RingReader::peek() {
  if (head_ == known_tail_) read_tail();
  if (head_ == known_tail_) return std::nullopt;
  if (length_at_head() == kFiller) skip_filler();
  const std::uint64_t length = length_at_head();
  check_length(length);
  next_ = head_ + footprint(length);
  return std::span(ring_ + head_ % size_ + kRingHeader, static_cast<std::size_t>(length));
}

void RingReader::pop() {
  SATRAP_EXPECT(next_ > head_);
  head_ = next_;
}

void RingReader::read_tail() {
  const std::uint64_t tail = load(tail_);
  if (tail < head_) refuse(link_, "the writer's tail", tail, fmt::format("it was {}", head_));
  if (tail - head_ > size_) {
    refuse(link_, "the writer's tail", tail,
           fmt::format("more than the ring's {} bytes after the head {}", size_, head_));
  }
  if (tail % static_cast<std::uint64_t>(kRingLine) != 0) {
    refuse(link_, "the writer's tail", tail, "not a multiple of 64");
  }
  known_tail_ = tail;
}

std::uint64_t RingReader::length_at_head() const noexcept {
  std::uint64_t length = 0;
  std::memcpy(&length, ring_ + head_ % size_, sizeof length);
  return length;
}

void RingReader::skip_filler() {
  const std::uint64_t place = head_ % size_;
  const std::uint64_t next_lap = head_ + size_ - place;
  if (place == 0) refuse(link_, "a message's length", kFiller, "a filler at the ring's start");
  if (next_lap >= known_tail_) {
    refuse(link_, "a message's length", kFiller, "a filler with no message after it");
  }
  head_ = next_lap;
}

void RingReader::check_length(std::uint64_t length) const {
  const auto limit = static_cast<std::uint64_t>(max_message_of(link_.bytes));
  if (length > limit) {
    refuse(link_, "a message's length", length, fmt::format("the limit is {}", limit));
  }
  if (footprint(length) > known_tail_ - head_) {
    refuse(link_, "a message's length", length,
           fmt::format("only {} bytes are published", known_tail_ - head_));
  }
  if (footprint(length) > size_ - head_ % size_) {
    refuse(link_, "a message's length", length, "it would wrap around the end of the ring");
  }
}

}  // namespace satrap::comm
