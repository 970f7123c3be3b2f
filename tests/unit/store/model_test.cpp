// Random operations on a table and on a std::map of rows, compared bit by bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "unit/store/reference.hpp"
#include "unit/store/support.hpp"

namespace satrap::store {
namespace {

using config::Optimizer;

struct ModelRow : ReferenceRow {
  std::int64_t last_batch = 0;  ///< The last training lookup of it.
};

class Model {
 public:
  Model(const config::TableConfig& config, std::uint64_t seed)
      : config_(config),
        optimizer_(config),
        seed_(seed),
        random_(seed, RandomStream::teacher),
        table_(std::in_place, kTable, config, seed) {
    // Few enough ids that rows come back, and the odd ones among them.
    pool_ = id_range(0, 150);
    for (std::uint64_t i = 0; i < 100; ++i) pool_.push_back(FeatureId{i << 57 | 5});
    for (std::uint64_t i = 0; i < 100; ++i) {
      pool_.push_back(FeatureId{std::numeric_limits<std::uint64_t>::max() - i});
    }
  }

  void step() {
    ++step_;
    switch (random_.below(10)) {
      case 0:
        peek();
        break;
      case 1:
        move_to_new_table();
        break;
      case 2:
        overwrite_some();
        break;
      case 3:
      case 4:
      case 5:
        apply();
        break;
      default:
        train_lookup();
    }
  }

  void compare() const {
    const RowBlock block = export_all(*table_);
    ASSERT_EQ(block.size(), rows_.size());
    ASSERT_EQ(table_->size(), static_cast<std::int64_t>(rows_.size()));
    const std::size_t floats = optimizer_.state_floats();
    const auto weights = numbers(block.weights);
    const auto state = numbers(block.state);
    for (std::size_t i = 0; i < block.size(); ++i) {
      const auto found = rows_.find(block.ids[i]);
      ASSERT_NE(found, rows_.end());
      const ModelRow& row = found->second;
      ASSERT_TRUE(std::equal(row.weights.begin(), row.weights.end(), &weights[i * dim()]));
      ASSERT_TRUE(std::equal(row.state.begin(), row.state.end(), state.data() + i * floats));
      if (!block.updates.empty()) ASSERT_EQ(block.updates[i], row.updates);
    }
  }

  std::int64_t evicted() const noexcept { return evicted_; }
  std::int64_t dropped() const noexcept { return dropped_; }

 private:
  static constexpr TableId kTable{9};

  std::size_t dim() const { return static_cast<std::size_t>(config_.dim); }

  std::vector<FeatureId> batch() {
    std::vector<FeatureId> ids = pool_;
    for (std::size_t i = 0; i < ids.size(); ++i) std::swap(ids[i], ids[random_.below(i + 1)]);
    const std::uint64_t most =
        config_.capacity > 0 ? static_cast<std::uint64_t>(config_.capacity) : pool_.size();
    // Mostly small batches, now and then up to all the table.
    ids.resize(random_.below(random_.below(8) == 0 ? most + 1 : most / 4 + 1));
    return ids;
  }

  void train_lookup() {
    const auto ids = batch();
    const auto out = lookup(*table_, ids);
    for (const FeatureId id : ids) {
      auto [row, is_new] = rows_.try_emplace(id);
      row->second.last_batch = step_;
      if (!is_new) continue;
      row->second.weights.resize(dim());
      initial_row(seed_, kTable, id, static_cast<float>(config_.init_range), row->second.weights);
      row->second.state.assign(optimizer_.state_floats(),
                               static_cast<float>(config_.initial_accumulator));
    }
    forget_evicted();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto found = rows_.find(ids[i]);
      ASSERT_NE(found, rows_.end()) << "a row of the batch was evicted";
      // A row that was evicted earlier must have started anew; forget_evicted has erased it then.
      ASSERT_TRUE(
          std::equal(found->second.weights.begin(), found->second.weights.end(), &out[i * dim()]));
    }
  }

  /// Takes the rows that the table no longer has out of the model, after a look at whether they
  /// were the right ones.
  void forget_evicted() {
    if (config_.capacity == 0) return;
    const RowBlock block = export_all(*table_);
    const std::set<FeatureId> left(block.ids.begin(), block.ids.end());
    std::int64_t newest_evicted = 0;
    std::int64_t oldest_left = step_;
    std::int64_t evicted = 0;
    for (auto row = rows_.begin(); row != rows_.end();) {
      if (left.count(row->first) > 0) {
        oldest_left = std::min(oldest_left, row->second.last_batch);
        ++row;
      } else {
        newest_evicted = std::max(newest_evicted, row->second.last_batch);
        ++evicted;
        row = rows_.erase(row);
      }
    }
    ASSERT_LE(table_->size(), config_.capacity);
    if (evicted == 0) return;
    evicted_ += evicted;
    EXPECT_LE(newest_evicted, oldest_left) << "a row was evicted before one that is older";
    EXPECT_GE(table_->size(), config_.capacity - std::max<std::int64_t>(1, config_.capacity / 32))
        << "more rows were evicted than needed";
  }

  void peek() {
    const auto ids = batch();
    const auto out = peek(*table_, ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto found = rows_.find(ids[i]);
      const std::vector<float> expected =
          found == rows_.end() ? std::vector<float>(dim()) : found->second.weights;
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), &out[i * dim()]));
    }
  }

  void apply() {
    const auto ids = batch();
    const auto gradients = random_floats(random_, ids.size() * dim());
    table_->apply(ids, gradients.data(), {.step = step_, .lr_factor = 0.5f});
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto found = rows_.find(ids[i]);
      if (found == rows_.end()) {
        ++dropped_;
      } else {
        optimizer_.update(found->second, &gradients[i * dim()], step_, 0.5f);
      }
    }
    ASSERT_EQ(table_->statistics().gradients_dropped, dropped_ - dropped_before_);
  }

  void move_to_new_table() {
    const RowOrder order = table_->order_rows(8);
    Table next(kTable, config_, seed_);
    RowBlock block;
    const std::span<const RowNumber> rows(order.rows);
    for (std::size_t begin = 0; begin < rows.size();) {
      const std::size_t n = std::min(rows.size() - begin, std::size_t{1} + random_.below(60));
      table_->export_rows(rows.subspan(begin, n), block);
      next.import_rows(block);
      begin += n;
    }
    expect_same_rows(export_all(next), export_all(*table_));
    table_.emplace(std::move(next));
    dropped_before_ = dropped_;
  }

  void overwrite_some() {
    RowBlock block = export_all(*table_);
    if (block.size() == 0) return;
    // Half of them, with other weights.
    block.weights = random_floats(random_, block.weights.size());
    const std::size_t n = block.size() / 2;
    block.ids.resize(n);
    block.touched.resize(n);
    block.updates.resize(n);
    block.weights.resize(n * dim());
    block.state.resize(n * optimizer_.state_floats());
    table_->import_rows(block);
    for (std::size_t i = 0; i < n; ++i) {
      rows_[block.ids[i]].weights.assign(&block.weights[i * dim()],
                                         &block.weights[i * dim()] + dim());
    }
  }

  config::TableConfig config_;
  ReferenceOptimizer optimizer_;
  std::uint64_t seed_;
  RandomSequence random_;
  std::optional<Table> table_;
  std::map<FeatureId, ModelRow> rows_;
  std::vector<FeatureId> pool_;
  std::int64_t step_ = 0;
  std::int64_t evicted_ = 0;
  std::int64_t dropped_ = 0;
  std::int64_t dropped_before_ = 0;
};

struct Case {
  Optimizer optimizer;
  std::int64_t dim;
  std::int64_t capacity;
};

class ModelTest : public testing::TestWithParam<Case> {};

TEST_P(ModelTest, RandomOperations) {
  auto config = table_config(GetParam().dim, GetParam().optimizer, GetParam().capacity);
  if (config.optimizer == Optimizer::adagrad) config.initial_accumulator = 0.1;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    Model model(config, seed);
    for (int i = 0; i < 600 && !HasFatalFailure(); ++i) {
      model.step();
      if (i % 10 == 0) model.compare();
    }
    EXPECT_EQ(model.evicted() > 0, config.capacity > 0);
    EXPECT_GT(model.dropped(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, ModelTest,
                         testing::Values(Case{Optimizer::sgd, 3, 0}, Case{Optimizer::sgd, 1, 1},
                                         Case{Optimizer::sgd, 2, 7},
                                         Case{Optimizer::adagrad, 12, 63},
                                         Case{Optimizer::rowwise_adagrad, 17, 100},
                                         Case{Optimizer::rowwise_adagrad, 5, 200},
                                         Case{Optimizer::adam, 8, 0},
                                         Case{Optimizer::adam, 65, 150}));

}  // namespace
}  // namespace satrap::store
