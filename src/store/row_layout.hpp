#pragma once

#include <cstddef>
#include <cstdint>

#include "config/config.hpp"
#include "core/types.hpp"

namespace satrap::store {

/// Bytes of one number of a storage type.
constexpr std::size_t bytes_of(config::Storage storage) noexcept {
  switch (storage) {
    case config::Storage::fp32:
      return 4;
    case config::Storage::fp16:
    case config::Storage::bf16:
      return 2;
    case config::Storage::int8:
      return 1;
  }
  return 0;
}

/// Where the parts of a row lie, in bytes from its start. Rows follow each other without padding
/// between them, so a row and all its parts are aligned to 4 bytes.
///
///     0      8               weights                         state              bytes
///     | id   | updates | scale | dim x storage type | padding | n x fp32 or bf16 | padding |
///      u64     u32       fp32                        0-3 bytes                    0 or 2 bytes
///             (if kept) (int8)
struct RowLayout {
  /// `updates_kept`: whether the optimizer needs the number of updates of each row.
  constexpr RowLayout(std::int64_t dim, config::Storage storage, std::int64_t state_values,
                      config::Storage state_storage, bool updates_kept) noexcept
      : has_updates(updates_kept),
        has_scale(storage == config::Storage::int8),
        scale(updates + (updates_kept ? sizeof(std::uint32_t) : 0)),
        weights(scale + (has_scale ? sizeof(float) : 0)),
        weight_bytes(static_cast<std::size_t>(dim) * bytes_of(storage)),
        state(weights + padded(weight_bytes)),
        state_bytes(static_cast<std::size_t>(state_values) * bytes_of(state_storage)),
        bytes(state + padded(state_bytes)) {}

  static constexpr std::size_t updates = sizeof(FeatureId);
  bool has_updates;
  bool has_scale;
  std::size_t scale;
  std::size_t weights;
  std::size_t weight_bytes;
  std::size_t state;
  std::size_t state_bytes;
  std::size_t bytes;

 private:
  static constexpr std::size_t padded(std::size_t n) noexcept { return (n + 3) / 4 * 4; }
};

static_assert(sizeof(FeatureId) == 8 && sizeof(float) == 4);
// Dim 16 in fp32 and dim 128 in int8, row-wise Adagrad; dim 3 in fp16, Adam with a count.
static_assert(RowLayout(16, config::Storage::fp32, 1, config::Storage::fp32, false).bytes == 76);
static_assert(RowLayout(128, config::Storage::int8, 1, config::Storage::fp32, false).bytes == 144);
static_assert(RowLayout(3, config::Storage::fp16, 6, config::Storage::fp32, true).bytes == 44);

}  // namespace satrap::store
