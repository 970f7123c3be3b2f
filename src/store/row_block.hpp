#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace satrap::store {

/// Index of a row within its table's slabs; stable until the row is evicted.
enum class RowNumber : std::uint32_t {};

/// Rows as they cross the boundary of the table: structure of arrays, n rows. Numbers stay in the
/// types in which the table keeps them, so that nothing is rounded on the way.
struct RowBlock {
  std::vector<FeatureId> ids;          ///< [n]
  std::vector<std::byte> weights;      ///< [n, dim] of the storage type
  std::vector<float> scales;           ///< [n] with storage int8: weight = scale * int8; else empty
  std::vector<std::byte> state;        ///< [n, state_values] of the state's type
  std::vector<std::uint32_t> updates;  ///< [n] Adam's t where the table keeps it; else empty
  std::vector<std::uint64_t> touched;  ///< [n] who goes first when rows are evicted: the smallest

  std::size_t size() const noexcept { return ids.size(); }
};

/// Row numbers grouped by virtual shard, by id within a shard: the same for the same set of rows.
struct RowOrder {
  std::vector<RowNumber> rows;
  std::vector<std::int64_t> shard_begin;  ///< [virtual_shards + 1] offsets into rows
};

}  // namespace satrap::store
