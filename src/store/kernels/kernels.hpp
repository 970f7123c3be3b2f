#pragma once

#include <cstddef>
#include <cstdint>

#include "config/choices.hpp"
#include "core/types.hpp"
#include "store/optimizer.hpp"

namespace satrap::store {

// Kernels are compiled once per instruction set; the functions named ..._kernel(s) return those for
// this machine. Arrays need the alignment of their elements only, `std::byte` arrays that of 4
// bytes; nothing outside an array is read or written.

/// The update of one row.
UpdateRow update_kernel(config::Optimizer optimizer, bool momentum);

/// Initial weights: the values of satrap::initial_row for (seed, table, id), many at a time.
using InitializeRow = void (*)(std::uint64_t seed, TableId table, FeatureId id, float range,
                               std::size_t dim, float* out);
InitializeRow initialize_kernel();

/// What bounds an update.
struct LimitKernels {
  /// `gradient` [dim] scaled down to an L2 norm of `norm`, where it is larger, to `out` [dim].
  void (*clip)(float norm, std::size_t dim, const float* gradient, float* out);
  /// Clamps `weights` [dim] to [-bound, bound].
  void (*clamp)(float bound, std::size_t dim, float* weights);
};
LimitKernels limit_kernels();

/// The parts of a row that are rounded, each with random words of its own.
enum class RowPart : std::uint32_t { weights = 0, moments = 1 };

/// Where the random words of a row come from: Philox under `key` (core/random.hpp).
///
///     counter   | id, u64 | block, u32 | part, u32 |
///
/// Eight blocks have 32 words, which serve 64 values: values 2b and 2b + 1 of the first 16 take
/// words 0 and 1 of block b, those of the next 16 words 2 and 3; the other 32 take the same words
/// with their halves swapped. So the upper half of what each value gets is its own, and all 32 bits
/// of it are uniform.
struct RowRandom {
  std::uint64_t key;
  FeatureId id;
  RowPart part;
};

/// From and to a storage type below fp32.
struct StorageKernels {
  /// `stored` [n] to `out` [n], exactly. The fp32 scale of int8 lies just before `stored`.
  void (*decode)(const std::byte* stored, std::size_t n, float* out);
  /// Rounds `values` [n] to `stored` [n] (docs/store.md).
  void (*encode)(const float* values, std::size_t n, const RowRandom& random, std::byte* stored);
};
/// `storage` is not fp32.
StorageKernels storage_kernels(config::Storage storage, config::Rounding rounding);

}  // namespace satrap::store
