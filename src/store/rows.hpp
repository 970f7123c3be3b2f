#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/types.hpp"
#include "store/arena.hpp"
#include "store/prefetch.hpp"

namespace satrap::store {

/// Where the parts of a row lie, in bytes from its start. Rows follow each other without padding,
/// so a row and all its parts are aligned to 4 bytes.
///
///     0           8                weights            state              bytes
///     | id, u64   | updates, u32   | dim x float      | n x float        |
///                 (if kept)
struct RowLayout {
  /// `keeps_updates`: whether the optimizer needs the number of updates of each row.
  RowLayout(std::int64_t dim, std::int64_t state_floats, bool keeps_updates) noexcept
      : weights(sizeof(FeatureId) + (keeps_updates ? sizeof(std::uint32_t) : 0)),
        state(weights + static_cast<std::size_t>(dim) * sizeof(float)),
        bytes(state + static_cast<std::size_t>(state_floats) * sizeof(float)) {}

  static constexpr std::size_t updates = sizeof(FeatureId);
  std::size_t weights;
  std::size_t state;
  std::size_t bytes;

  bool keeps_updates() const noexcept { return weights != updates; }
};

static_assert(sizeof(FeatureId) == 8 && sizeof(float) == 4);

/// The rows of a table in slabs of one arena block each. A row's number holds its slab above and
/// its place in the slab below, so that an address costs a shift, a load and a multiplication.
///
///     number   | slab | place |          place < rows per slab <= 2^bits
///               32-bits  bits
class Rows {
 public:
  /// A row must fit a slab: layout.bytes <= Arena::kBlockBytes.
  Rows(Arena& arena, const RowLayout& layout);

  const RowLayout& layout() const noexcept { return layout_; }
  std::int64_t used() const noexcept { return used_; }
  /// Bytes of the slab table.
  std::int64_t metadata_bytes() const noexcept;

  /// A row that nobody had before, zero-filled. Throws InternalError if memory or row numbers end.
  std::uint32_t append();

  std::byte* at(std::uint32_t number) const noexcept {
    return slabs_[number >> place_bits_] + (number & place_mask_) * layout_.bytes;
  }
  FeatureId id(std::uint32_t number) const noexcept {
    FeatureId id;
    std::memcpy(&id, at(number), sizeof id);
    return id;
  }
  void set_id(std::uint32_t number, FeatureId id) noexcept {
    std::memcpy(at(number), &id, sizeof id);
  }
  float* weights(std::uint32_t number) const noexcept {
    return reinterpret_cast<float*>(at(number) + layout_.weights);
  }
  float* state(std::uint32_t number) const noexcept {
    return reinterpret_cast<float*>(at(number) + layout_.state);
  }
  std::uint32_t updates(std::uint32_t number) const noexcept {
    std::uint32_t updates = 0;
    if (layout_.keeps_updates()) std::memcpy(&updates, at(number) + layout_.updates, 4);
    return updates;
  }
  void set_updates(std::uint32_t number, std::uint32_t updates) noexcept {
    if (layout_.keeps_updates()) std::memcpy(at(number) + layout_.updates, &updates, 4);
  }

  void prefetch_id(std::uint32_t number) const noexcept { prefetch_line(at(number)); }
  /// Fetches the first `bytes` of a row. Row 0 need not be there yet.
  void prefetch(std::uint32_t number, std::size_t bytes) const noexcept {
    if (used_ == 0) return;
    const std::byte* row = at(number);
    for (std::size_t i = 0; i < bytes; i += 64) prefetch_line(row + i);
    prefetch_line(row + bytes - 1);
  }

 private:
  Arena* arena_;
  RowLayout layout_;
  std::uint32_t per_slab_;
  unsigned place_bits_;
  std::uint32_t place_mask_;
  std::uint32_t place_;  ///< Of the next row, in the last slab.
  std::int64_t used_ = 0;
  std::vector<std::byte*> slabs_;
};

}  // namespace satrap::store
