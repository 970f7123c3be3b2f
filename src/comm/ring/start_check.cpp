#include <algorithm>
#include <cstring>

#include "comm/ring/fabric.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"

/// Sends a pattern over every link before the job relies on them: some versions of MPI corrupt or
/// lose puts on some networks (docs/transport.md), which would otherwise show as a wrong result.
namespace satrap::comm {

namespace {

/// Long enough to travel as MPI sends long messages, not within a packet of its own.
constexpr std::int64_t kPatternBytes = 16384;

std::uint64_t pattern_of(int from, int to) {
  return mix((static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint64_t>(to)) + 1);
}

std::int64_t pattern_bytes(std::int64_t max_message) {
  return std::min(kPatternBytes, max_message / 8 * 8);
}

}  // namespace

void Fabric::check_delivery() {
  const int me = communicator_.rank();
  std::deque<std::vector<std::uint64_t>> sent;  // stays until flushed
  for (Outgoing& out : outgoing_) {
    const auto words = static_cast<std::size_t>(pattern_bytes(out.writer.max_message()) / 8);
    const auto& pattern = sent.emplace_back(words, pattern_of(me, out.rank));
    window_.put(out.rank, out.place.ring, std::as_bytes(std::span(pattern)));
    window_.put(out.rank, out.place.control, pattern[0]);
  }
  for (Incoming& in : incoming_) {
    const auto& word = sent.emplace_back(1, pattern_of(me, in.rank))[0];
    window_.put(in.rank, in.place.credit, word);
  }
  window_.flush_all();
  communicator_.barrier();
  window_.sync();

  for (Outgoing& out : outgoing_) {
    throw_unless_equal(window_.data() + out.place.credit, pattern_of(out.rank, me), 8, out.rank);
    std::memset(window_.data() + out.place.credit, 0, kRingLine);
  }
  for (Incoming& in : incoming_) {
    const std::uint64_t pattern = pattern_of(in.rank, me);
    const std::int64_t bytes = pattern_bytes(in.reader.max_message());
    throw_unless_equal(window_.data() + in.place.control, pattern, 8, in.rank);
    throw_unless_equal(window_.data() + in.place.ring, pattern, bytes, in.rank);
    std::memset(window_.data() + in.place.control, 0, kRingLine);
  }
  window_.sync();
  communicator_.barrier();  // nobody publishes into words that are still to be cleared
}

void Fabric::throw_unless_equal(const std::byte* found, std::uint64_t pattern, std::int64_t bytes,
                                int from) const {
  for (std::int64_t offset = 0; offset < bytes; offset += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, found + offset, sizeof word);
    if (word == pattern) continue;
    throw InternalError(
        fmt::format("MPI did not deliver what rank {} put into the window of rank {}", from,
                    communicator_.rank()),
        fmt::format("at byte {} of {} it is {:x} instead of {:x}", offset, bytes, word, pattern),
        "try another one-sided component: OMPI_MCA_osc=pt2pt on Ethernet, OMPI_MCA_osc=ucx on "
        "InfiniBand");
  }
}

}  // namespace satrap::comm
