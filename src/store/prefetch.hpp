#pragma once

namespace satrap::store {

/// Fetches the cache line of `address`, to be read or written soon.
inline void prefetch_line(const void* address) noexcept {
  __builtin_prefetch(address);
  // GCC takes a function that does nothing but prefetch for one without effect, and drops calls of
  // it. This keeps them.
  asm volatile("" : : "r"(address));
}

}  // namespace satrap::store
