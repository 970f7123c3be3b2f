#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "comm/mpi/communicator.hpp"
#include "comm/mpi/window.hpp"
#include "comm/ring/layout.hpp"
#include "comm/ring/ring.hpp"
#include "core/types.hpp"

namespace satrap::comm {

/// All rings of a job, and each rank's landing zone, in one window per rank (see Layout).
///
/// Every word has one writer. A control line (64 bytes, its own cache line) holds the ring's tail,
/// written by its producer; a credit line holds the head, written by the consumer into the
/// producer's window. Ordering between hosts: payload puts, flush, tail puts, local flush; the
/// consumer reads the tail after sync(), then the payload. On one host the ends share the memory:
/// payload stores, release store of the tail; acquire load of the tail, payload loads; no MPI call
/// is on the way. One thread (the one that owns MPI) calls everything.
class Fabric {
 public:
  /// Collective over `communicator`, whose ranks are the WorldRanks of `links`; every rank passes
  /// the same links. `landing_bytes` is this rank's own. Sends a pattern over every link and throws
  /// InternalError, naming the ranks, where it does not arrive.
  Fabric(const Communicator& communicator, const std::vector<Link>& links,
         std::int64_t landing_bytes);
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;
  ~Fabric() = default;  ///< Collective, see Window.

  /// The ends of the rings of this rank; they live as long as the fabric. Throws InternalError if
  /// there is no such link.
  RingWriter& to(WorldRank rank);
  RingReader& from(WorldRank rank);

  /// Memory that others write to with put(). 64-byte aligned.
  std::span<std::byte> landing() const noexcept;
  /// Starts writing into the landing zone of `rank`; complete there when the next publish()
  /// returns, and before any message of that publish(). `source` must stay as it is until then.
  /// Throws InternalError if it would not fit.
  void put(WorldRank rank, std::int64_t offset, std::span<const std::byte> source);

  /// Makes everything that was committed to rings and put since the last call visible to its
  /// readers: payloads, one flush, tails, one local flush. Cheap when there is nothing.
  void publish();
  /// Makes what others published visible here (Window::sync) and returns due credit. Call it in
  /// every turn of the progress loop.
  void progress();

 private:
  struct Outgoing {
    Outgoing(const Link& link, const Layout::Place& at, const Window& window);

    int rank;
    Layout::Place place;
    std::uint64_t* tail;  ///< Of the consumer, if in shared memory, else null.
    RingWriter writer;
  };
  struct Incoming {
    Incoming(const Link& link, const Layout::Place& at, const Window& window);

    int rank;
    Layout::Place place;
    std::uint64_t* credit;  ///< Of the producer, if in shared memory, else null.
    RingReader reader;
  };

  void connect(const std::vector<Link>& links);
  void flush();
  void publish_tails();
  void check_delivery();
  void throw_unless_equal(const std::byte* found, std::uint64_t pattern, std::int64_t bytes,
                          int from) const;

  Communicator communicator_;
  Layout layout_;
  std::vector<std::int64_t> landing_bytes_;  ///< Of every rank.
  Window window_;
  std::deque<Outgoing> outgoing_;  // Deques: their elements do not move.
  std::deque<Incoming> incoming_;
  std::vector<Outgoing*> outgoing_to_;    ///< One per rank, null where there is no link.
  std::vector<Incoming*> incoming_from_;  ///< One per rank, null where there is no link.
  std::vector<int> unflushed_;            ///< Targets of puts since the last flush.
};

}  // namespace satrap::comm
