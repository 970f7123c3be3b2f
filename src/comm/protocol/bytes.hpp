#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "core/error.hpp"

namespace satrap::comm {

/// Appends values and arrays to a byte buffer, in this machine's byte order: ranks of one job only.
class ByteWriter {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void value(const T& value) { append(&value, sizeof(T)); }
  /// Its length, then its elements.
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void array(const std::vector<T>& values) {
    value(static_cast<std::uint64_t>(values.size()));
    append(values.data(), values.size() * sizeof(T));
  }

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  void append(const void* data, std::size_t size) {
    if (size == 0) return;
    const std::size_t end = bytes_.size();
    bytes_.resize(end + size);
    std::memcpy(bytes_.data() + end, data, size);
  }

  std::vector<std::byte> bytes_;
};

/// Reads back what a ByteWriter wrote; throws InternalError instead of reading beyond the end.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T> T value() {
    T result;
    std::memcpy(&result, take(sizeof(T)).data(), sizeof(T));
    return result;
  }
  template <class T>
  requires std::is_trivially_copyable_v<T> std::vector<T> array() {
    const auto size = value<std::uint64_t>();
    if (size > bytes_.size() / sizeof(T)) fail();
    std::vector<T> result(size);
    if (size > 0) std::memcpy(result.data(), take(size * sizeof(T)).data(), size * sizeof(T));
    return result;
  }

 private:
  std::span<const std::byte> take(std::size_t size) {
    if (size > bytes_.size()) fail();
    const auto head = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return head;
  }
  [[noreturn]] static void fail() {
    throw InternalError("a message between ranks is shorter than its contents say");
  }

  std::span<const std::byte> bytes_;
};

}  // namespace satrap::comm
