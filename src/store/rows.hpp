#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/types.hpp"
#include "store/arena.hpp"
#include "store/prefetch.hpp"

namespace satrap::store {

/// The rows of a table, ids first (row_layout.hpp), in slabs of one arena block each. A row's
/// number holds its slab above and its place in the slab below, so that an address costs a shift, a
/// load and a multiplication.
///
///     number   | slab | place |          place < rows per slab <= 2^bits
///               32-bits  bits
class Rows {
 public:
  /// A row must fit a slab: row_bytes <= Arena::kBlockBytes.
  Rows(Arena& arena, std::size_t row_bytes);

  std::size_t row_bytes() const noexcept { return row_bytes_; }
  std::int64_t used() const noexcept { return used_; }
  /// Bytes of the slabs.
  std::int64_t bytes() const noexcept {
    return static_cast<std::int64_t>(slabs_.size() * Arena::kBlockBytes);
  }
  /// Bytes of the slab table.
  std::int64_t metadata_bytes() const noexcept;

  /// A row that nobody had before, zero-filled. Throws InternalError if memory or row numbers end.
  std::uint32_t append();

  std::byte* at(std::uint32_t number) const noexcept {
    return slabs_[number >> place_bits_] + (number & place_mask_) * row_bytes_;
  }
  static FeatureId id(const std::byte* row) noexcept {
    FeatureId id;
    std::memcpy(&id, row, sizeof id);
    return id;
  }
  FeatureId id(std::uint32_t number) const noexcept { return id(at(number)); }
  void set_id(std::uint32_t number, FeatureId id) noexcept {
    std::memcpy(at(number), &id, sizeof id);
  }
  void prefetch_id(std::uint32_t number) const noexcept { prefetch_line(at(number)); }
  /// Fetches the first `bytes` of a row.
  static void prefetch(const std::byte* row, std::size_t bytes) noexcept {
    const std::byte* const last = row + bytes - 1;
#pragma GCC unroll 4
    for (const std::byte* line = row; line < last; line += 64) prefetch_line(line);
    prefetch_line(last);
  }

 private:
  Arena* arena_;
  std::size_t row_bytes_;
  std::uint32_t per_slab_;
  unsigned place_bits_;
  std::uint32_t place_mask_;
  std::uint32_t place_;  ///< Of the next row, in the last slab.
  std::int64_t used_ = 0;
  std::vector<std::byte*> slabs_;
};

}  // namespace satrap::store
