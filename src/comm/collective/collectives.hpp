#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/mpi/communicator.hpp"

namespace satrap::comm {

/// Collectives among the ranks of a communicator that a compute thread asks for and the MPI thread
/// carries out without blocking, so that rings go on moving meanwhile.
///
/// The compute thread calls everything but progress() and abandon(); the MPI thread calls
/// progress() in its loop. All ranks must call the same collectives in the same order. Over one
/// rank the calls return at once and progress() is not needed. Sums have a fixed order for a fixed
/// number of ranks and length.
class Collectives {
 public:
  /// MPI thread, collective: works on a duplicate of `communicator`.
  explicit Collectives(const Communicator& communicator);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  int rank() const noexcept;
  int size() const noexcept;

  /// Starts summing `values` over the ranks in place; they must stay untouched until wait_sums().
  /// Several may be under way; lengths agree over the ranks.
  void start_sum(std::span<float> values);
  /// Blocks until every started sum is done. Throws InternalError after abandon().
  void wait_sums();

  /// Blocking calls; they too throw InternalError after abandon().
  void sum(std::span<double> values);
  void max(std::span<std::int64_t> values);
  void broadcast(std::span<float> values, int root);
  void barrier();
  /// On `root`: the bytes of every rank, in rank order. Elsewhere empty. Sizes may differ and
  /// exceed 2 GiB.
  std::vector<std::byte> gather(std::span<const std::byte> bytes, int root);

  /// MPI thread: starts and completes operations; returns whether it did anything.
  bool progress();
  /// MPI thread: the job is failing; waiting calls throw, now and later. Buffers of unfinished
  /// calls may still be written by MPI, so abort_job() should follow.
  void abandon();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace satrap::comm
