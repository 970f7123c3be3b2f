#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "device/backend.hpp"

namespace satrap::device {

/// Every block starts at a multiple of this: a cache line, and the widest vector register.
inline constexpr std::int64_t kAlignment = 64;

/// A block of zeroed bytes on one backend; frees itself. Move-only.
class Memory {
 public:
  Memory() noexcept = default;
  /// Throws InternalError if `bytes` is negative, if memory is short, or if the backend is missing.
  Memory(Backend backend, std::int64_t bytes);
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;

  void* data() const noexcept { return data_; }
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  Backend backend_ = Backend::cpu;
  std::int64_t bytes_ = 0;
  void* data_ = nullptr;
};

/// Bytes of all living blocks of `backend` in this process. Thread-safe.
std::int64_t allocated_bytes(Backend backend) noexcept;

/// A typed block: `size` values of T, zero at first. Move-only.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() noexcept = default;
  explicit Buffer(std::int64_t size, Backend backend = Backend::cpu)
      : memory_(backend, size * static_cast<std::int64_t>(sizeof(T))), size_(size) {}

  T* data() noexcept { return static_cast<T*>(memory_.data()); }
  const T* data() const noexcept { return static_cast<const T*>(memory_.data()); }
  std::int64_t size() const noexcept { return size_; }
  std::span<T> span() noexcept { return {data(), static_cast<std::size_t>(size_)}; }
  std::span<const T> span() const noexcept { return {data(), static_cast<std::size_t>(size_)}; }

  /// Makes room for at least `size` values; if that needs a new block, the old content is lost.
  void grow(std::int64_t size) {
    if (size > size_) *this = Buffer(size);
  }

 private:
  Memory memory_;
  std::int64_t size_ = 0;
};

}  // namespace satrap::device
