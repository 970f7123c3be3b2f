#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "comm/mpi/communicator.hpp"
#include "comm/mpi/window.hpp"
#include "comm/ring/ring.hpp"
#include "core/types.hpp"

namespace satrap::comm {

/// A ring from one rank to another, agreed upon before the fabric is made.
struct Link {
  WorldRank from;
  WorldRank to;
  std::int64_t bytes;  ///< Of the ring; a multiple of 64, at least 4096.
};

/// All rings of a job, and each rank's landing zone, in one window per rank:
///
///     | control lines of rings to me | credit lines of rings from me | rings to me ... | landing
///     zone |
///
/// Every word has one writer. A control line (64 bytes, its own cache line) holds the ring's tail,
/// written by its producer; a credit line holds the head, written by the consumer into the
/// producer's window. Ordering: payload puts, flush, tail puts, flush; the consumer reads the tail
/// after sync(), then the payload. One thread (the one that owns MPI) calls everything.
class Fabric {
 public:
  /// Collective over `communicator`, whose ranks are the WorldRanks of `links`; every rank passes
  /// the same links. `landing_bytes` is this rank's own.
  Fabric(const Communicator& communicator, const std::vector<Link>& links,
         std::int64_t landing_bytes);
  ~Fabric();  ///< Collective.

  /// The ends of the rings of this rank. They must exist.
  RingWriter& to(WorldRank rank);
  RingReader& from(WorldRank rank);

  /// Memory that others write to with put().
  std::span<std::byte> landing() const noexcept;
  /// Starts writing into the landing zone of `rank`; complete there after the next publish().
  /// Throws InternalError if it would not fit.
  void put(WorldRank rank, std::int64_t offset, std::span<const std::byte> source);

  /// Makes everything that was committed to rings and put since the last call visible to its
  /// readers: payloads, one flush, tails, one flush. Cheap when there is nothing.
  void publish();
  /// Makes what others published visible here (Window::sync) and returns due credit. Call it in
  /// every turn of the progress loop.
  void progress();

 private:
  struct Layout;
  std::unique_ptr<Layout> layout_;
  Communicator communicator_;
  Window window_;
  std::map<int, std::unique_ptr<RingWriter>> writers_;
  std::map<int, std::unique_ptr<RingReader>> readers_;
  bool puts_pending_ = false;
};

}  // namespace satrap::comm
