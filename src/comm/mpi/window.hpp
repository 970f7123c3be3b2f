#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "comm/mpi/communicator.hpp"

namespace satrap::comm {

/// Memory of this rank that the others write into: MPI_Win_allocate, locked shared at every rank
/// (MPI_Win_lock_all) until the destructor. Construction and destruction are collective.
/// Zero-filled. Offsets and sizes are bytes and 64-bit; a put longer than MPI's int counts is
/// split. Move-only.
class Window {
 public:
  Window() = default;
  Window(const Communicator& communicator, std::int64_t bytes);
  Window(Window&& other) noexcept;
  Window& operator=(Window&& other) noexcept;
  ~Window();

  std::byte* data() const noexcept { return data_; }
  std::int64_t size() const noexcept { return size_; }

  /// Starts writing `source` into rank `target`'s window at `offset`. `source` must stay as it is
  /// until the next flush returns.
  void put(int target, std::int64_t offset, std::span<const std::byte> source);
  /// Every put of this rank, to `target` or to all, is complete there when it returns.
  void flush(int target);
  void flush_all();
  /// Makes what others have put visible to loads of this rank, and lets MPI progress.
  void sync();

 private:
  void release() noexcept;

  void* handle_ = nullptr;  ///< MPI_Win
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
  int ranks_ = 0;
};

}  // namespace satrap::comm
