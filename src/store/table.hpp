#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/config.hpp"
#include "core/types.hpp"

namespace satrap::store {

/// What a lookup does with an id that has no row.
enum class Missing {
  insert,  ///< Training: the id gets a row with its initial weights.
  zeros,   ///< Evaluation: zeros come back; nothing in the table changes, not even recency.
};

struct TableStatistics {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;  ///< Everything allocated: slabs, index, metadata.
  std::int64_t hits = 0;
  std::int64_t inserted = 0;
  std::int64_t evicted = 0;
  std::int64_t gradients_applied = 0;
  /// Gradients of ids without a row (evicted since their lookup).
  std::int64_t gradients_dropped = 0;
};

/// What the learning-rate schedule and the step contribute to an update.
struct UpdateContext {
  Step step = 0;
  float lr_factor = 1.0f;  ///< Multiplies the table's lr.
};

/// Rows as they cross the boundary of the table: structure of arrays, n rows.
struct RowBlock {
  std::vector<FeatureId> ids;          ///< [n]
  std::vector<float> weights;          ///< [n, dim]
  std::vector<float> state;            ///< [n, state_floats]
  std::vector<std::uint32_t> updates;  ///< [n] updates of the row so far (Adam's t)
  std::vector<std::uint32_t> touched;  ///< [n] recency stamp, larger is later

  std::size_t size() const noexcept { return ids.size(); }
};

/// Index of a row within its table's slabs; stable until the row is evicted.
enum class RowNumber : std::uint32_t {};

/// Row numbers grouped by virtual shard, by id within a shard: the same for the same set of rows.
struct RowOrder {
  std::vector<RowNumber> rows;
  std::vector<std::int64_t> shard_begin;  ///< [virtual_shards + 1] offsets into rows
};

/// One shard of one embedding table: rows of fixed size in slabs, found through a fingerprint
/// index. Not thread-safe. All operations are batched; in a batch given to `lookup` or `apply` the
/// ids must be distinct. Any 64-bit id is legal.
class Table {
 public:
  /// `config.capacity` rows are the capacity of this shard (0: no limit). Throws ConfigError for a
  /// combination that no table can have.
  Table(TableId id, const config::TableConfig& config, std::uint64_t seed);
  ~Table();
  Table(Table&&) noexcept;
  Table& operator=(Table&&) noexcept;

  /// Writes the weights of `ids` [n] to `out` [n, dim]. With Missing::insert new rows are made,
  /// evicting others if the table is full; rows of this batch are never evicted by it. Throws
  /// DataError if the batch has more ids than the capacity, or if the table is full and eviction is
  /// off.
  void lookup(std::span<const FeatureId> ids, Missing missing, float* out);

  /// One optimizer step for each of `ids` [n] with its gradient in `gradients` [n, dim], summed
  /// over duplicates by the caller. The gradient of an id without a row is counted as dropped and
  /// changes nothing else.
  void apply(std::span<const FeatureId> ids, const float* gradients, const UpdateContext& context);

  /// All rows in checkpoint order; 4 bytes per row of memory beyond the table (twice that while
  /// sorting).
  RowOrder order_rows(std::uint32_t virtual_shards) const;
  /// Copies `rows` into `block`, replacing what it held.
  void export_rows(std::span<const RowNumber> rows, RowBlock& block) const;
  /// Adds rows, or overwrites those that exist. Throws CheckpointError if a size of the block is
  /// wrong, or if the rows do not fit the capacity.
  void import_rows(const RowBlock& block);

  const config::TableConfig& config() const noexcept;
  std::int64_t dim() const noexcept;
  /// Floats of optimizer state per row.
  std::int64_t state_floats() const noexcept;
  std::int64_t size() const noexcept;
  TableStatistics statistics() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace satrap::store
