#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/config.hpp"
#include "core/types.hpp"
#include "store/row_block.hpp"
#include "store/row_layout.hpp"
#include "store/statistics.hpp"
#include "store/update_context.hpp"

namespace satrap::store {

/// One shard of one embedding table: rows of fixed size in slabs, found through a fingerprint
/// index (docs/store.md). Not thread-safe. All operations are batched; in a batch given to `lookup`
/// or `apply` the ids must be distinct. Any 64-bit id is legal.
///
/// The same operations lead to the same rows, and so do an export and an import in between. Any
/// operation that needs memory throws InternalError if there is none, and leaves a table that is
/// whole.
class Table {
 public:
  /// `config.capacity` rows, or capacity_bytes, are the capacity of this shard (0: no limit).
  /// Throws ConfigError for a value or combination that no table can have.
  Table(TableId id, const config::TableConfig& config, std::uint64_t seed);
  ~Table();
  Table(Table&&) noexcept;
  Table& operator=(Table&&) noexcept;

  /// Training: writes the weights of `ids` [n] in fp32 to `out` [n, dim]. Ids without a row get one
  /// if they are admitted, evicting others if the table is full; rows of this batch are never
  /// evicted by it. `step` is the one the batch belongs to; steps never go down. Throws DataError
  /// if the batch has more ids than the capacity, or if the table is full and eviction is off.
  void lookup(std::span<const FeatureId> ids, Step step, float* out);

  /// Evaluation: the same, but ids without a row give zeros (or the shared row, as config says),
  /// and nothing in the table changes, not even recency or statistics.
  void peek(std::span<const FeatureId> ids, float* out) const;

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
  /// wrong, or if the rows do not fit the capacity and eviction is off. With eviction the rows that
  /// would go first are left out, and counted as evicted.
  void import_rows(const RowBlock& block);

  /// Copies the appearances counted so far of ids without rows to `cells`, for checkpoints: 2 bytes
  /// per id of the window; none if the table does not count.
  void save_admission(std::vector<std::uint16_t>& cells) const;
  /// Takes them over from a shard of the same ids and window; false, changing nothing, if there are
  /// more or fewer.
  bool restore_admission(std::span<const std::uint16_t> cells);

  // Of a shard with such a config, before there is one. Each throws ConfigError as the constructor.

  /// Bytes that a row takes in a table of many rows, its share of the index included, and of an
  /// admission window that follows the capacity: an upper bound.
  static std::int64_t bytes_per_row(const config::TableConfig& config);
  /// Bytes of an admission window of its own size, which come on top.
  static std::int64_t admission_bytes(const config::TableConfig& config);
  /// Rows; 0: no limit.
  static std::int64_t capacity_in_rows(const config::TableConfig& config);
  /// The least capacity_bytes with which it holds `rows` rows, at least 1; whatever its own are.
  static std::int64_t bytes_for(config::TableConfig config, std::int64_t rows);

  const config::TableConfig& config() const noexcept;
  const RowLayout& layout() const noexcept;
  std::int64_t dim() const noexcept;
  /// Numbers of optimizer state per row, of the type layout() tells.
  std::int64_t state_values() const noexcept;
  config::Storage state_storage() const noexcept;
  std::int64_t size() const noexcept;
  TableStatistics statistics() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace satrap::store
