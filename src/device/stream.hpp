#pragma once

#include <cstdint>

#include "core/error.hpp"
#include "device/backend.hpp"

/// Marks the functors that a CPU loop and a GPU kernel share.
#ifdef __CUDACC__
#define SATRAP_KERNEL __host__ __device__
#else
#define SATRAP_KERNEL
#endif

namespace satrap::device {

/// An ordered queue of work on one backend. The CPU's has no depth: a launch has run when it
/// returns, in the calling thread.
class Stream {
 public:
  /// Throws InternalError if the backend is missing.
  explicit Stream(Backend backend = Backend::cpu) : backend_(backend) {
    if (backend == Backend::cuda) cuda::require();
  }

  Backend backend() const noexcept { return backend_; }
  /// Returns when all work launched before has run.
  void synchronize() {
    if (backend_ == Backend::cuda) cuda::synchronize();
  }

 private:
  Backend backend_;
};

/// Runs op(0) ... op(n - 1) on a CPU stream. The calls must not depend on each other: the compiler
/// may run them side by side in vector registers.
template <class Op>
void launch(const Stream& stream, std::int64_t n, const Op& op) {
  SATRAP_EXPECT(stream.backend() == Backend::cpu);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) op(i);
}

/// Runs op(row, column) over a matrix, row after row. Calls of one row must not depend on each
/// other; those of one column may, and see the rows before.
template <class Op>
void launch_rows(const Stream& stream, std::int64_t rows, std::int64_t columns, const Op& op) {
  SATRAP_EXPECT(stream.backend() == Backend::cpu);
  for (std::int64_t row = 0; row < rows; ++row) {
#pragma GCC ivdep
    for (std::int64_t column = 0; column < columns; ++column) op(row, column);
  }
}

}  // namespace satrap::device
