#pragma once

namespace satrap::device {

/// Threads that one matrix product may use, 1 by default: a rank has one core unless it is told
/// otherwise. Environment variables play no part. Thread-safe; at least 1.
void set_compute_threads(int threads);
int compute_threads() noexcept;

/// Makes it hold for the calling thread. OpenMP keeps the number per thread, so whoever calls a
/// library that uses OpenMP calls this before; it costs a few nanoseconds.
void apply_compute_threads() noexcept;

}  // namespace satrap::device
