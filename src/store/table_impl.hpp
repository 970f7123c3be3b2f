#pragma once

#include <vector>

#include "store/arena.hpp"
#include "store/index.hpp"
#include "store/kernels.hpp"
#include "store/optimizer.hpp"
#include "store/recency.hpp"
#include "store/rows.hpp"
#include "store/table.hpp"

namespace satrap::store {

/// Joins the parts of a table: rows hold ids, weights and state; the index finds rows; recency says
/// which are dead. Dead rows stay in the index until their memory is taken for a new row or their
/// id comes back.
class Table::Impl {
 public:
  Impl(TableId id, const config::TableConfig& config, std::uint64_t seed);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void lookup(std::span<const FeatureId> ids, float* out);
  void peek(std::span<const FeatureId> ids, float* out) const;
  void apply(std::span<const FeatureId> ids, const float* gradients, const UpdateContext& context);

  RowOrder order_rows(std::uint32_t virtual_shards) const;
  void export_rows(std::span<const RowNumber> rows, RowBlock& block) const;
  void import_rows(const RowBlock& block);

  const config::TableConfig& config() const noexcept { return config_; }
  std::int64_t size() const noexcept { return recency_.live(); }
  std::int64_t state_floats() const noexcept { return optimizer_.state_floats(); }
  TableStatistics statistics() const noexcept;

 private:
  std::size_t dim() const noexcept { return static_cast<std::size_t>(config_.dim); }
  /// Bytes of a row that a lookup touches.
  std::size_t weights_end() const noexcept { return rows_.layout().state; }
  bool live(Entry entry) const noexcept { return entry && !recency_.dead(entry.bin()); }
  auto sweep() {
    return [this](const Recency::Renumbering& renumbering) { return index_.renumber(renumbering); };
  }

  void check_fits(std::size_t ids) const;
  /// Evicts until `n` more rows fit; throws DataError if eviction is off.
  void make_room(std::int64_t n);
  void insert_missing(std::span<const FeatureId> ids, float* out);
  /// The row of an id that has no live one, in bin `bin`; `entry` is its dead one or none.
  std::uint32_t new_row(FeatureId id, std::uint64_t hash, Entry entry, Recency::Bin bin);
  std::uint32_t take_row();
  void initialize(std::uint32_t row, FeatureId id) noexcept;

  void check_sizes(const RowBlock& block) const;
  /// Whether there is room for a row of `bin`.
  bool make_room_for_import(Recency::Bin bin);

  TableId id_;
  config::TableConfig config_;
  std::uint64_t seed_;
  RowOptimizer optimizer_;
  InitializeRow initialize_row_;
  Arena arena_;
  Rows rows_;
  Index index_;
  Recency recency_;
  TableStatistics statistics_;
  std::vector<std::uint32_t> free_rows_;  ///< Taken from dead rows, not yet used.
  std::vector<std::size_t> missing_;      ///< Scratch of lookup: positions of ids without a row.
};

}  // namespace satrap::store
