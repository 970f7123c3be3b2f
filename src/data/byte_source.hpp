#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace satrap::data {

/// The bytes of one file from its start to its end, decompressed if need be. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Fills the front of `out` and returns how many bytes; 0 only at the end (or if `out` is empty).
  /// Throws DataError that names the file: unreadable, truncated or corrupt.
  virtual std::size_t read(std::span<char> out) = 0;

  /// Bytes of the file that have been read so far, before decompression.
  virtual std::int64_t consumed() const noexcept = 0;
};

/// Opens `path`: gzip if its first bytes say so, whatever its name, of any number of members.
/// Throws DataError if it cannot be opened, or is named .gz and is no gzip file.
std::unique_ptr<ByteSource> open_source(const std::string& path);

}  // namespace satrap::data
