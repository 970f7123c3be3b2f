#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace satrap::store {

/// Index of a row within its table's slabs; stable until the row is evicted.
enum class RowNumber : std::uint32_t {};

/// Rows as they cross the boundary of the table: structure of arrays, n rows.
struct RowBlock {
  std::vector<FeatureId> ids;          ///< [n]
  std::vector<float> weights;          ///< [n, dim]
  std::vector<float> state;            ///< [n, state_floats]
  std::vector<std::uint32_t> updates;  ///< [n] Adam's t where the table keeps it, else 0
  std::vector<std::uint32_t> touched;  ///< [n] recency stamp, larger is later

  std::size_t size() const noexcept { return ids.size(); }
};

/// Row numbers grouped by virtual shard, by id within a shard: the same for the same set of rows.
struct RowOrder {
  std::vector<RowNumber> rows;
  std::vector<std::int64_t> shard_begin;  ///< [virtual_shards + 1] offsets into rows
};

}  // namespace satrap::store
