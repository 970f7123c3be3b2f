#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/mpi/communicator.hpp"

namespace satrap::comm {

/// Memory of this rank that the others write into, locked shared at every rank (MPI_Win_lock_all)
/// until the destructor: shared memory where all ranks are on one host and MPI offers it
/// (MPI_Win_allocate_shared), MPI_Win_allocate elsewhere. Construction and destruction are
/// collective; a window destroyed by an exception is left alone, as the other ranks may not know of
/// it (abort_job ends them). Zero-filled, 64-byte aligned. Offsets and sizes are bytes and 64-bit;
/// a put longer than MPI's int counts is split. Move-only.
class Window {
 public:
  Window() = default;
  Window(const Communicator& communicator, std::int64_t bytes);
  Window(Window&& other) noexcept;
  Window& operator=(Window&& other) noexcept;
  ~Window();

  std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

  /// The window of `rank` where this process can address it: on one host. Else null.
  std::byte* data_of(int rank) const noexcept {
    return peers_[static_cast<std::size_t>(rank)].data;
  }

  /// Starts writing `source` into rank `target`'s window at `offset`. `source` must stay as it is
  /// until the next flush returns. Throws InternalError if it does not fit there.
  void put(int target, std::int64_t offset, std::span<const std::byte> source);
  /// Writes one aligned word, which readers see whole: its old value or the new one.
  void put(int target, std::int64_t offset, const std::uint64_t& word);

  /// Every put of this rank, to `target` or to all, is complete there when it returns.
  void flush(int target);
  void flush_all();
  /// Every put of this rank to `target` is under way and its source free when it returns; it
  /// arrives without further calls of this rank. Half as long as flush() over TCP.
  void flush_local(int target);
  void flush_local_all();

  /// Makes what others have put visible to loads of this rank, and lets MPI progress.
  void sync();

 private:
  struct Peer {
    std::int64_t begin;  ///< Of the aligned part within what MPI allocated there.
    std::int64_t size;
    std::byte* data;  ///< Null if not in memory that we share.
  };

  bool allocate_shared(const Communicator& communicator, std::int64_t all_bytes);
  void allocate(const Communicator& communicator);
  std::byte* shared_data(int rank) const;
  std::int64_t displacement(int target, std::int64_t offset, std::int64_t bytes) const;
  void release() noexcept;

  void* handle_ = nullptr;  ///< MPI_Win
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  std::vector<Peer> peers_;  ///< One per rank.
};

}  // namespace satrap::comm
