#pragma once

#include <optional>
#include <vector>

#include "store/admission.hpp"
#include "store/arena.hpp"
#include "store/eviction_queue.hpp"
#include "store/index.hpp"
#include "store/row_ops.hpp"
#include "store/rows.hpp"
#include "store/table.hpp"

namespace satrap::store {

/// Joins the parts of a table: rows hold what ops works on; the index finds them; the queue says
/// which are dead; admission says which ids get one. Dead rows stay in the index until their memory
/// is taken for a new row or their id comes back.
class Table::Impl {
 public:
  Impl(TableId id, const config::TableConfig& config, std::uint64_t seed);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void lookup(std::span<const FeatureId> ids, Step step, float* out);
  void peek(std::span<const FeatureId> ids, float* out) const;
  void apply(std::span<const FeatureId> ids, const float* gradients, const UpdateContext& context);

  RowOrder order_rows(std::uint32_t virtual_shards) const;
  void export_rows(std::span<const RowNumber> rows, RowBlock& block) const;
  void import_rows(const RowBlock& block);
  std::optional<AppearanceCounter>& appearances() noexcept { return appearances_; }

  const config::TableConfig& config() const noexcept { return config_; }
  const RowOps& ops() const noexcept { return ops_; }
  std::int64_t size() const noexcept { return queue_.live(); }
  TableStatistics statistics() const noexcept;

 private:
  std::size_t dim() const noexcept { return static_cast<std::size_t>(config_.dim); }
  const RowLayout& layout() const noexcept { return ops_.layout(); }
  std::int64_t capacity() const noexcept { return queue_.capacity(); }
  bool live(Entry entry) const noexcept { return entry && !queue_.dead(entry.bin()); }
  auto sweep() {
    return [this](const EvictionQueue::Renumbering& renumbering) {
      return index_.renumber(renumbering);
    };
  }

  void check_fits(std::size_t ids) const;
  void count(const Index::Probes& probes) noexcept;
  /// Evicts until `n` more rows fit; throws DataError if eviction is off.
  void make_room(std::int64_t n);
  bool admitted(std::uint64_t hash) noexcept;
  /// Takes the ids that get no row out of missing_.
  void admit_missing(std::span<const FeatureId> ids, float* out);
  void insert_missing(std::span<const FeatureId> ids, float* out);
  /// The row of an id that has no live one, in bin `bin`; `entry` is its dead one or none.
  std::uint32_t new_row(FeatureId id, std::uint64_t hash, Entry entry, EvictionQueue::Bin bin);
  std::uint32_t take_row();

  void check_sizes(const RowBlock& block) const;
  void import_row(const RowBlock& block, std::size_t i, std::uint64_t hash, Entry entry);
  /// Whether there is room for a row of `bin`.
  bool make_room_for_import(EvictionQueue::Bin bin);

  TableId id_;
  config::TableConfig config_;
  RowOps ops_;
  Arena arena_;
  Rows rows_;
  Index index_;
  EvictionQueue queue_;
  std::optional<AppearanceCounter> appearances_;  ///< With admit_after above 1.
  std::uint64_t most_admitted_hash_;              ///< From config's admit_share.
  std::vector<float> absent_;                     ///< [dim] What an id without a row looks up as.
  TableStatistics statistics_;
  std::vector<std::uint32_t> free_rows_;  ///< Taken from dead rows, not yet used.
  std::vector<std::size_t> missing_;      ///< Scratch of lookup: positions of ids without a row.
};

}  // namespace satrap::store
