#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace satrap::comm {

/// A communicator that we own: errors are returned (and thrown as InternalError), the destructor
/// frees it. The calls are blocking collectives over all of its ranks and meant for setting up and
/// shutting down; what runs during training is in collective/. Move-only; null after a move.
class Communicator {
 public:
  /// MPI_Comm's representation without mpi.h: a pointer with Open MPI.
  using Handle = void*;

  /// A duplicate of MPI_COMM_WORLD. Collective over the world.
  static Communicator world();

  Communicator() = default;
  Communicator(Communicator&& other) noexcept;
  Communicator& operator=(Communicator&& other) noexcept;
  ~Communicator();

  /// The ranks that give the same `color`, ordered by `key`, then by rank. A negative color joins
  /// none: the result is null.
  Communicator split(int color, int key) const;
  Communicator duplicate() const;

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  Handle handle() const noexcept { return handle_; }

  void barrier() const;
  /// The string of `root`, of any length, on every rank.
  std::string broadcast(std::string text, int root) const;
  /// values[r] is what rank r gave.
  std::vector<std::int64_t> all_gather(std::int64_t value) const;
  std::vector<std::string> all_gather(const std::string& text) const;

 private:
  explicit Communicator(Handle handle);

  Handle handle_ = nullptr;
  int rank_ = 0;
  int size_ = 0;
};

}  // namespace satrap::comm
