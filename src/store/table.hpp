#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "config/config.hpp"
#include "core/types.hpp"
#include "store/row_block.hpp"

namespace satrap::store {

/// What a lookup does with an id that has no row.
enum class Missing {
  insert,  ///< Training: the id gets a row with its initial weights.
  zeros,   ///< Evaluation: zeros come back; nothing in the table changes, not even recency.
};

struct TableStatistics {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;     ///< Everything allocated: slabs, index, metadata.
  std::int64_t hits = 0;      ///< Ids that a lookup with Missing::insert found.
  std::int64_t inserted = 0;  ///< Ids that it did not find.
  std::int64_t evicted = 0;   ///< To make room, by lookups and imports.
  std::int64_t gradients_applied = 0;
  /// Gradients of ids without a row (evicted since their lookup).
  std::int64_t gradients_dropped = 0;
};

/// What the learning-rate schedule and the step contribute to an update.
struct UpdateContext {
  Step step = 0;
  float lr_factor = 1.0f;  ///< Multiplies the table's lr.
};

/// One shard of one embedding table: rows of fixed size in slabs, found through a fingerprint
/// index (docs/store.md). Not thread-safe. All operations are batched; in a batch given to `lookup`
/// or `apply` the ids must be distinct. Any 64-bit id is legal.
///
/// The same operations lead to the same rows, and so do an export and an import in between. Any
/// operation that needs memory throws InternalError if there is none, and leaves a table that is
/// whole.
class Table {
 public:
  /// `config.capacity` rows are the capacity of this shard (0: no limit). Throws ConfigError for a
  /// value or combination that no table can have.
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
  /// wrong, or if the rows do not fit the capacity and eviction is off. With eviction `lru` the
  /// rows with the oldest stamps are left out, and counted as evicted.
  void import_rows(const RowBlock& block);

  /// Bytes that a row of such a table takes, its share of the index included, in a table of many
  /// rows. Throws ConfigError as the constructor.
  static std::int64_t bytes_per_row(const config::TableConfig& config);

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
