#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "store/row_ops.hpp"
#include "unit/store/reference.hpp"
#include "unit/store/support.hpp"

namespace satrap::store {

/// A table and what it should hold: a std::map of rows. Does random operations on both and compares
/// them byte by byte.
///
/// Which ids have rows is predicted where the table promises it: always without eviction, and after
/// ttl steps. Who makes room for others is promised up to a grain; so the model asks the table, and
/// checks what is promised of those that are gone: they are none of the batch, they come before all
/// that are left, and they are no more than a grain too many.
///
/// What an update does to the bytes of a row is RowOps' part, which has tests of its own; in fp32
/// the scalar formulas have to agree with it.
class Model {
 public:
  /// `strange` imports bring ids that had no rows, with the keys of others, and ids twice.
  Model(const config::TableConfig& config, std::uint64_t seed, bool strange)
      : config_(config),
        ops_(kTable, config, seed),
        seed_(seed),
        strange_(strange),
        random_(seed, RandomStream::teacher),
        table_(std::in_place, kTable, config, seed) {
    make_pool();
    absent_ = peek(*table_, id_range(0, 1));
  }

  /// One random operation.
  void operate() {
    step_ += static_cast<Step>(random_.below(16) == 0 ? random_.below(30) : random_.below(3));
    switch (random_.below(12)) {
      case 0:
        return look_up_for_evaluation();
      case 1:
        return move_to_new_table();
      case 2:
        return overwrite_some();
      case 3:
      case 4:
      case 5:
      case 6:
        return apply();
      default:
        return look_up(batch());
    }
  }

  /// Ids that were never seen before, `n` of them, so that the index splits.
  void grow(std::size_t n) {
    for (std::uint64_t first = std::uint64_t{1} << 40; n > 0; first += 5000) {
      const std::size_t now = std::min<std::size_t>(n, 5000);
      look_up(id_range(first, now));
      n -= now;
    }
  }

  /// All rows byte by byte, and the statistics.
  void compare() const {
    const RowBlock block = export_all(*table_);
    ASSERT_EQ(block.size(), rows_.size());
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto found = rows_.find(block.ids[i]);
      ASSERT_NE(found, rows_.end()) << "a row that should not be there: " << raw(block.ids[i]);
      ASSERT_EQ(bytes_of_row(block, i), found->second.bytes) << "row of " << raw(block.ids[i]);
    }
    const TableStatistics statistics = table_->statistics();
    ASSERT_EQ(statistics.rows, static_cast<std::int64_t>(rows_.size()));
    ASSERT_EQ(statistics.hits, counted_.hits);
    ASSERT_EQ(statistics.inserted, counted_.inserted);
    ASSERT_EQ(statistics.not_admitted, counted_.not_admitted);
    ASSERT_EQ(statistics.evicted, counted_.evicted);
    ASSERT_EQ(statistics.gradients_applied, counted_.gradients_applied);
    ASSERT_EQ(statistics.gradients_dropped, counted_.gradients_dropped);
  }

  /// What has happened so far, in all tables together.
  struct Events {
    std::int64_t ids = 0;  ///< In operations.
    std::int64_t evicted = 0;
    std::int64_t expired = 0;
    std::int64_t not_admitted = 0;
    std::int64_t dropped = 0;
    std::int64_t refused = 0;
  };
  const Events& events() const noexcept { return events_; }

 private:
  struct Row {
    std::vector<std::byte> bytes;  ///< Of RowOps' layout, without the id.
    std::int64_t batch = 0;        ///< The last training lookup of it,
    Step step = 0;                 ///< and its step.
    std::uint64_t key = 0;         ///< As last exported.
  };
  static constexpr TableId kTable{9};

  std::size_t dim() const { return static_cast<std::size_t>(config_.dim); }
  bool limited() const { return config_.capacity > 0; }
  bool evicts() const { return limited() && config_.eviction != config::Eviction::none; }

  /// Few enough ids that rows come back, and odd ones among them.
  void make_pool() {
    pool_ = id_range(0, 150);
    for (std::uint64_t i = 0; i < 100; ++i) pool_.push_back(FeatureId{i << 57 | 5});
    const std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    for (std::uint64_t i = 0; i < 100; ++i) pool_.push_back(FeatureId{last - i});
    auto plain = table_config(1, config::Optimizer::sgd);
    plain.admit_share = config_.admit_share;
    share_.emplace(kTable, plain, seed_);
    if (config_.admit_after == 1) return;
    // Those that are counted as if they were others, which is allowed, are left out.
    plain.admit_share = 1;
    plain.admit_after = 2;
    plain.admission_window = config_.admission_window;
    Table counter(kTable, plain, seed_);
    lookup(counter, pool_);
    for (const FeatureId id : export_all(counter).ids) std::erase(pool_, id);
    ASSERT_GT(pool_.size(), 340U);
  }

  /// Some ids, those at the start of the pool more often, and now and then one of them twice.
  std::vector<FeatureId> batch() {
    const std::size_t most =
        limited() ? std::min(pool_.size(), static_cast<std::size_t>(config_.capacity))
                  : pool_.size();
    // Mostly small, now and then up to all the table, and rarely more than fits.
    const std::size_t n = random_.below(16) == 0
                              ? most + 1
                              : random_.below(random_.below(8) == 0 ? most + 1 : most / 4 + 2);
    std::vector<FeatureId> ids(
        pool_.begin(), pool_.begin() + (random_.below(2) == 0 && n < 80 ? 80 : pool_.size()));
    for (std::size_t i = 0; i < n && i < ids.size(); ++i) {
      std::swap(ids[i], ids[i + random_.below(ids.size() - i)]);
    }
    ids.resize(std::min(n, ids.size()));
    if (!ids.empty() && random_.below(8) == 0) ids.back() = ids[random_.below(ids.size())];
    return ids;
  }

  bool admitted(FeatureId id) {
    if (config_.admit_share < 1) {
      // Nothing but the id decides, so another table can be asked.
      const FeatureId ids[] = {id};
      const std::int64_t before = share_->statistics().not_admitted;
      lookup(*share_, ids);
      if (share_->statistics().not_admitted > before) return false;
    }
    if (config_.admit_after == 1) return true;
    if (++seen_[id] < config_.admit_after) return false;
    seen_.erase(id);
    return true;
  }

  void expire() {
    if (config_.eviction != config::Eviction::ttl) return;
    const auto gone = std::erase_if(
        rows_, [&](const auto& row) { return step_ - row.second.step >= config_.ttl; });
    counted_.evicted += static_cast<std::int64_t>(gone);
    events_.expired += static_cast<std::int64_t>(gone);
  }

  void look_up(const std::vector<FeatureId>& ids) {
    events_.ids += static_cast<std::int64_t>(ids.size());
    if (ids.empty()) return table_->lookup({}, step_, nullptr);
    std::vector<float> expected(ids.size() * dim());
    const bool too_many = limited() && static_cast<std::int64_t>(ids.size()) > config_.capacity;
    std::vector<std::size_t> missing;  // Positions of ids that get rows.
    if (!too_many) {
      ++batch_;
      expire();
      missing = touch(ids, expected);
    }
    const auto rows = static_cast<std::int64_t>(rows_.size() + missing.size());
    if (too_many || (limited() && !evicts() && rows > config_.capacity)) {
      ASSERT_THROW(lookup(*table_, ids, step_), DataError);
      ++events_.refused;
      return;
    }
    const auto out = lookup(*table_, ids, step_);
    const std::int64_t inserted_before = counted_.inserted;
    for (const std::size_t i : missing) {
      Row& row = rows_[ids[i]];
      if (row.bytes.empty()) {
        row.bytes.resize(ops_.layout().bytes);
        ops_.initialize(ids[i], row.bytes.data());
        ++counted_.inserted;
      }
      row.batch = batch_;
      row.step = step_;
      ops_.read(row.bytes.data(), &expected[i * dim()]);
    }
    const std::int64_t inserted = counted_.inserted - inserted_before;
    check_evicted(batch_, static_cast<std::int64_t>(missing.size()) - inserted);
    ASSERT_TRUE(same(out, expected)) << "values of a training lookup";
    last_step_ = step_;
  }

  /// The rows that are there become the most recent; returns which of the others get one.
  std::vector<std::size_t> touch(const std::vector<FeatureId>& ids, std::vector<float>& expected) {
    std::vector<std::size_t> absent, missing;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto found = rows_.find(ids[i]);
      if (found == rows_.end()) {
        absent.push_back(i);
        continue;
      }
      ++counted_.hits;
      found->second.batch = batch_;
      found->second.step = step_;
      ops_.read(found->second.bytes.data(), &expected[i * dim()]);
    }
    for (const std::size_t i : absent) {
      if (admitted(ids[i])) {
        missing.push_back(i);
      } else {
        ++counted_.not_admitted;
        ++events_.not_admitted;
        std::copy(absent_.begin(), absent_.end(), &expected[i * dim()]);
      }
    }
    return missing;
  }

  /// Takes the rows that made room out of the model, after a look at whether they were the right
  /// ones. Those of `batch` may not be among them; room was made for `twice` rows that were not
  /// needed.
  void check_evicted(std::int64_t batch, std::int64_t twice) {
    if (!evicts()) return;
    const RowBlock block = export_all(*table_);
    std::map<FeatureId, std::uint64_t> keys;
    for (std::size_t i = 0; i < block.size(); ++i) keys[block.ids[i]] = block.touched[i];
    std::uint64_t last_evicted = 0, first_left = std::numeric_limits<std::uint64_t>::max();
    std::int64_t evicted = 0;
    for (auto row = rows_.begin(); row != rows_.end();) {
      const bool of_batch = row->second.batch == batch;
      if (keys.count(row->first) > 0) {
        // A row that shares a bin with the batch is as safe.
        if (!of_batch && (batch < 0 || step_of(keys[row->first]) < step_)) {
          first_left = std::min(first_left, row->second.key);
        }
        ++row;
        continue;
      }
      ASSERT_FALSE(of_batch) << "a row of the batch was evicted";
      last_evicted = std::max(last_evicted, row->second.key);
      ++evicted;
      row = rows_.erase(row);
    }
    counted_.evicted += evicted;
    events_.evicted += evicted;
    ASSERT_LE(table_->size(), config_.capacity);
    if (evicted > 0 && !halved()) {
      EXPECT_LE(last_evicted, first_left) << "a row was evicted before one that comes first";
    }
    if (evicted > 0 && !strange_ && batch >= 0) {
      EXPECT_GE(table_->size() + twice,
                config_.capacity - std::max<std::int64_t>(1, config_.capacity / 32))
          << "more rows were evicted than needed";
    }
    for (auto& [id, row] : rows_) row.key = keys.at(id);
    check_order();
  }

  static Step step_of(std::uint64_t key) { return static_cast<Step>(key << 8 >> 24); }

  /// Whether uses counted half since the keys were exported.
  bool halved() const {
    return config_.half_life > 0 &&
           (last_step_ < 0 || step_ / config_.half_life != last_step_ / config_.half_life);
  }

  /// Keys follow the order of use, up to rows that share one.
  void check_order() const {
    if (config_.eviction == config::Eviction::lfu) return;
    std::vector<std::pair<std::uint64_t, std::int64_t>> uses;
    for (const auto& [id, row] : rows_) uses.emplace_back(row.key, row.batch);
    std::sort(uses.begin(), uses.end());
    EXPECT_TRUE(std::is_sorted(uses.begin(), uses.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; }));
  }

  void look_up_for_evaluation() {
    const auto ids = batch();
    events_.ids += static_cast<std::int64_t>(ids.size());
    const auto out = peek(*table_, ids);
    std::vector<float> expected(out.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto found = rows_.find(ids[i]);
      if (found == rows_.end()) {
        std::copy(absent_.begin(), absent_.end(), &expected[i * dim()]);
      } else {
        ops_.read(found->second.bytes.data(), &expected[i * dim()]);
      }
    }
    ASSERT_TRUE(same(out, expected)) << "values of a peek";
  }

  void apply() {
    const auto ids = batch();
    events_.ids += static_cast<std::int64_t>(ids.size());
    const auto gradients = random_floats(random_, ids.size() * dim());
    const UpdateContext context{.step = step_, .lr_factor = 0.5f};
    table_->apply(ids, gradients.data(), context);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto found = rows_.find(ids[i]);
      if (found == rows_.end()) {
        ++counted_.gradients_dropped;
        ++events_.dropped;
      } else {
        ++counted_.gradients_applied;
        update(context, ids[i], &gradients[i * dim()], found->second.bytes);
      }
    }
  }

  void update(const UpdateContext& context, FeatureId id, const float* gradient,
              std::vector<std::byte>& bytes) const {
    const bool scalar = has_scalar_formulas();
    ReferenceRow expected;
    if (scalar) {
      expected = scalar_row(bytes);
      ReferenceOptimizer(config_).update(expected, gradient, context.step, context.lr_factor);
    }
    ops_.update(ops_.hyper(context), id, gradient, bytes.data());
    if (!scalar) return;
    const ReferenceRow row = scalar_row(bytes);
    ASSERT_TRUE(same(row.weights, expected.weights) && same(row.state, expected.state));
    ASSERT_EQ(row.updates, expected.updates);
  }

  bool has_scalar_formulas() const {
    return config_.storage == config::Storage::fp32 && config_.moments == config::Storage::fp32 &&
           config_.clip_norm == 0 && config_.weight_bound == 0;
  }
  ReferenceRow scalar_row(const std::vector<std::byte>& bytes) const {
    const RowLayout& layout = ops_.layout();
    ReferenceRow row;
    row.weights.resize(dim());
    row.state.resize(static_cast<std::size_t>(ops_.state_values()));
    std::memcpy(row.weights.data(), &bytes[layout.weights], layout.weight_bytes);
    if (!row.state.empty()) std::memcpy(row.state.data(), &bytes[layout.state], layout.state_bytes);
    if (layout.has_updates) std::memcpy(&row.updates, &bytes[layout.updates], sizeof row.updates);
    return row;
  }

  /// By blocks, forwards or backwards.
  void move_to_new_table() {
    const RowOrder order = table_->order_rows(8);
    Table next(kTable, config_, seed_);
    RowBlock block;
    std::span<const RowNumber> rows(order.rows);
    const bool backwards = random_.below(2) == 0;
    while (!rows.empty()) {
      const std::size_t n = std::min(rows.size(), std::size_t{1} + random_.below(100));
      table_->export_rows(backwards ? rows.last(n) : rows.first(n), block);
      next.import_rows(block);
      rows = backwards ? rows.first(rows.size() - n) : rows.subspan(n);
    }
    std::vector<std::uint16_t> cells;
    table_->save_admission(cells);
    ASSERT_TRUE(next.restore_admission(cells));
    expect_same_rows(export_all(next), export_all(*table_));
    table_.emplace(std::move(next));
    counted_ = {};
    last_step_ = -1;
  }

  /// Imports contents of rows under the ids of others, some ids twice.
  void overwrite_some() {
    RowBlock block = export_all(*table_);
    if (block.size() == 0) return;
    std::vector<Row> donors;
    for (std::size_t i = 0; i < block.size(); ++i) donors.push_back(rows_.at(block.ids[i]));
    const std::size_t n = 1 + random_.below(block.size());
    truncate(block, n);
    for (std::size_t i = 0; i < n; ++i) std::swap(block.ids[i], block.ids[random_.below(i + 1)]);
    if (strange_) {
      for (FeatureId& id : block.ids) {
        if (random_.below(8) == 0) id = pool_[random_.below(pool_.size())];
        if (random_.below(16) == 0) id = block.ids[random_.below(n)];
      }
    }
    events_.ids += static_cast<std::int64_t>(n);
    import(block, donors);
  }

  void import(const RowBlock& block, const std::vector<Row>& donors) {
    const auto fits = [&](FeatureId id) {
      return !limited() || evicts() || rows_.count(id) > 0 ||
             static_cast<std::int64_t>(rows_.size()) < config_.capacity;
    };
    std::size_t i = 0;
    for (; i < block.size() && fits(block.ids[i]); ++i) {
      rows_[block.ids[i]] = donors[i];
      rows_[block.ids[i]].key = block.touched[i];
    }
    if (i < block.size()) {
      ASSERT_THROW(table_->import_rows(block), CheckpointError);
      ++events_.refused;
    } else {
      table_->import_rows(block);
    }
    check_evicted(-1, 0);
    // An id that comes twice may be left out twice.
    ASSERT_GE(table_->statistics().evicted, counted_.evicted);
    counted_.evicted = table_->statistics().evicted;
  }

  void truncate(RowBlock& block, std::size_t n) const {
    const RowLayout& layout = ops_.layout();
    block.ids.resize(n);
    block.touched.resize(n);
    block.weights.resize(n * layout.weight_bytes);
    block.state.resize(n * layout.state_bytes);
    if (layout.has_scale) block.scales.resize(n);
    if (layout.has_updates) block.updates.resize(n);
  }

  std::vector<std::byte> bytes_of_row(const RowBlock& block, std::size_t i) const {
    const RowLayout& layout = ops_.layout();
    std::vector<std::byte> row(layout.bytes);
    const auto copy = [&](std::size_t to, const auto* from, std::size_t bytes) {
      if (bytes > 0)
        std::memcpy(&row[to], reinterpret_cast<const std::byte*>(from) + i * bytes, bytes);
    };
    copy(layout.updates, block.updates.data(), layout.has_updates ? sizeof(std::uint32_t) : 0);
    copy(layout.scale, block.scales.data(), layout.has_scale ? sizeof(float) : 0);
    copy(layout.weights, block.weights.data(), layout.weight_bytes);
    copy(layout.state, block.state.data(), layout.state_bytes);
    return row;
  }

  /// Bit by bit: NaN is the same as itself, 0 is not -0.
  static bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
  }

  config::TableConfig config_;
  RowOps ops_;
  std::uint64_t seed_;
  bool strange_;
  RandomSequence random_;
  std::optional<Table> table_;
  std::optional<Table> share_;  ///< Admits what config's admit_share admits, and all of it.
  std::vector<FeatureId> pool_;
  std::map<FeatureId, Row> rows_;
  std::map<FeatureId, std::int64_t> seen_;  ///< Appearances of ids that count.
  std::vector<float> absent_;               ///< [dim] What an id without a row looks up as.
  std::int64_t batch_ = 0;
  Step step_ = 1;
  Step last_step_ = -1;  ///< Of the last training lookup of this table.
  TableStatistics counted_;
  Events events_;
};

}  // namespace satrap::store
