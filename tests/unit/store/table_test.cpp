#include "store/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "unit/store/support.hpp"

namespace satrap::store {
namespace {

using config::Optimizer;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

template <class E, class Run>
std::string message_of(Run&& run) {
  try {
    run();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(Table, NewRowsAreTheInitialRowsOfTheirIds) {
  const auto ids = feature_ids({7, 0, std::numeric_limits<std::uint64_t>::max(), 1ULL << 40});
  for (const std::int64_t dim : {1, 3, 4, 5, 12, 16, 31, 32, 33, 64, 65, 200}) {
    auto config = table_config(dim);
    config.init_range = 0.3;
    const std::uint64_t seed = 0x1234567890abcdefULL;
    Table table(TableId{3}, config, seed);
    const auto rows = lookup(table, ids);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::vector<float> expected(static_cast<std::size_t>(dim));
      initial_row(seed, TableId{3}, ids[i], 0.3f, expected);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), &rows[i * expected.size()]))
          << "dim " << dim;
    }
    EXPECT_EQ(table.size(), 4);
    EXPECT_EQ(lookup(table, ids), rows);
    EXPECT_EQ(table.statistics().hits, 4);
    EXPECT_EQ(table.statistics().inserted, 4);
  }
}

TEST(Table, EvaluationChangesNothing) {
  Table table(TableId{0}, table_config(3, Optimizer::sgd, 64), 1);
  lookup(table, id_range(0, 40));
  lookup(table, id_range(40, 20));
  const auto before = export_all(table);
  const auto statistics = table.statistics();

  const auto rows = peek(table, id_range(30, 100));

  EXPECT_THAT(std::span(rows).subspan(3 * 30), Each(0.0f));
  EXPECT_TRUE(std::any_of(rows.begin(), rows.begin() + 3 * 30, [](float x) { return x != 0; }));
  expect_same_rows(export_all(table), before);
  EXPECT_EQ(table.statistics().hits, statistics.hits);
  EXPECT_EQ(table.statistics().rows, 60);
}

TEST(Table, EmptyBatchesAreFine) {
  Table table(TableId{0}, table_config(3), 1);
  table.lookup({}, 1, nullptr);
  table.peek({}, nullptr);
  table.apply({}, nullptr, {});
  table.import_rows({});
  RowBlock block;
  table.export_rows(table.order_rows(4).rows, block);
  EXPECT_EQ(block.size(), 0U);
}

TEST(Table, IdsThatDifferOnlyInTheirHighBitsAreDifferentRows) {
  Table table(TableId{0}, table_config(2), 1);
  std::vector<FeatureId> ids;
  for (std::uint64_t high = 0; high < 20'000; ++high) ids.push_back(FeatureId{high << 45});
  const auto rows = lookup(table, ids);
  EXPECT_EQ(table.size(), 20'000);
  EXPECT_EQ(peek(table, ids), rows);
}

// The trap: a gradient must reach its own row, whatever happens to its neighbours.
TEST(Table, GradientsOfIdsWithoutARowAreDroppedAndChangeNothingElse) {
  auto config = table_config(3, Optimizer::sgd);
  config.lr = 1.0;
  Table table(TableId{0}, config, 1);
  const auto present = feature_ids({1, 3, 5, 7});
  const auto before = lookup(table, present);

  const auto batch = feature_ids({100, 1, 3, 200, 300, 7, 400});
  std::vector<float> gradients;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    for (int k = 0; k < 3; ++k) gradients.push_back(static_cast<float>(10 * i + 1) * 0.125f);
  }
  table.apply(batch, gradients.data(), {});

  const auto after = peek(table, present);
  const float expected[] = {11 * 0.125f, 21 * 0.125f, 0, 51 * 0.125f};
  for (std::size_t i = 0; i < present.size(); ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_FLOAT_EQ(after[3 * i + k], before[3 * i + k] - expected[i]);
    }
  }
  EXPECT_EQ(table.size(), 4);
  EXPECT_EQ(table.statistics().gradients_applied, 3);
  EXPECT_EQ(table.statistics().gradients_dropped, 4);
}

TEST(Table, GradientsOfEvictedRowsAreDropped) {
  Table table(TableId{0}, table_config(3, Optimizer::sgd, 100), 1);
  lookup(table, id_range(0, 100));
  lookup(table, id_range(100, 100));  // Evicts all of the first batch.
  const auto before = export_all(table);
  const std::vector<float> gradients(3 * 100, 1.0f);
  table.apply(id_range(0, 100), gradients.data(), {});
  EXPECT_EQ(table.statistics().gradients_dropped, 100);
  expect_same_rows(export_all(table), before);
  EXPECT_THAT(peek(table, id_range(0, 100)), Each(0.0f));
}

TEST(Table, AnEvictedRowStartsAgainWithItsInitialWeightsAndState) {
  auto config = table_config(4, Optimizer::adam, 8);
  Table table(TableId{0}, config, 1);
  const auto id = feature_ids({1});
  const auto fresh = lookup(table, id);
  const std::vector<float> gradient(4, 1.0f);
  table.apply(id, gradient.data(), {.step = 1});
  const auto once = lookup(table, id);
  EXPECT_NE(once, fresh);
  lookup(table, id_range(100, 8));
  EXPECT_EQ(lookup(table, id), fresh);
  table.apply(id, gradient.data(), {.step = 2});
  EXPECT_EQ(lookup(table, id), once);
}

TEST(Table, RowsOfABatchAreNotEvictedByIt) {
  Table table(TableId{0}, table_config(1, Optimizer::sgd, 100), 1);
  lookup(table, id_range(0, 100));
  // Half of them are the oldest rows, and the batch needs all of the table.
  const auto batch = id_range(50, 100);
  lookup(table, batch);
  EXPECT_EQ(table.size(), 100);
  EXPECT_EQ(table.statistics().hits, 50);
  EXPECT_EQ(table.statistics().evicted, 50);
  const auto rows = export_all(table);
  EXPECT_THAT(rows.ids, testing::UnorderedElementsAreArray(batch));
}

TEST(Table, FullWithoutEvictionStopsWithAMessage) {
  auto config = table_config(2, Optimizer::sgd, 10);
  config.eviction = config::Eviction::none;
  Table table(TableId{0}, config, 1);
  lookup(table, id_range(0, 10));
  const auto before = export_all(table);
  lookup(table, id_range(5, 5));  // Nothing new: fine.
  const auto message = message_of<DataError>([&] { lookup(table, id_range(8, 4)); });
  EXPECT_THAT(message, AllOf(HasSubstr("'items' is full: 10 of this server's 10 rows"),
                             HasSubstr("raise the table's capacity or set eviction = lru")));
  EXPECT_EQ(export_all(table).ids, before.ids);
  EXPECT_EQ(export_all(table).weights, before.weights);
}

TEST(Table, ABatchLargerThanTheCapacityIsRefused) {
  Table table(TableId{0}, table_config(2, Optimizer::sgd, 10), 1);
  const auto message = message_of<DataError>([&] { lookup(table, id_range(0, 11)); });
  EXPECT_THAT(message,
              AllOf(HasSubstr("items"), HasSubstr("11"), HasSubstr("10"), HasSubstr("capacity")));
  EXPECT_EQ(table.size(), 0);
  lookup(table, id_range(0, 10));
  EXPECT_EQ(table.size(), 10);
}

TEST(Table, ConfigsThatNoTableCanHaveAreRefused) {
  const auto refused = [](auto change) {
    auto config = table_config(4, Optimizer::adagrad);
    change(config);
    return message_of<ConfigError>([&] { Table(TableId{0}, config, 1); });
  };
  EXPECT_THAT(refused([](auto& c) { c.dim = 0; }), HasSubstr("dim = 0"));
  EXPECT_THAT(refused([](auto& c) { c.dim = 1 << 20; }), HasSubstr("dim"));
  EXPECT_THAT(refused([](auto& c) { c.capacity = -1; }), HasSubstr("capacity"));
  EXPECT_THAT(refused([](auto& c) { c.init_range = -0.1; }), HasSubstr("init_range"));
  EXPECT_THAT(refused([](auto& c) { c.half_life = -1; }), HasSubstr("half_life"));
  EXPECT_THAT(refused([](auto& c) { c.momentum = 0.9; }), HasSubstr("momentum"));
  EXPECT_THAT(refused([](auto& c) {
                c.optimizer = Optimizer::ftrl;
                c.weight_decay = 0.1;
              }),
              HasSubstr("weight_decay"));
  EXPECT_THAT(refused([](auto& c) { c.eviction = config::Eviction::ttl; }), HasSubstr("ttl"));
  EXPECT_THAT(refused([](auto& c) { c.admit_after = 16; }), HasSubstr("admit_after"));
  EXPECT_THAT(refused([](auto& c) { c.capacity_bytes = 1000; }), HasSubstr("capacity_bytes"));
  EXPECT_THAT(refused([](auto& c) {
                c.optimizer = Optimizer::adam;
                c.initial_accumulator = 0.1;
              }),
              HasSubstr("initial_accumulator"));
}

TEST(Table, NumbersThatRowsCannotBeComputedWithAreRefused) {
  using C = config::TableConfig;
  constexpr double C::*kNumbers[] = {&C::lr,         &C::momentum,     &C::beta1,
                                     &C::beta2,      &C::eps,          &C::initial_accumulator,
                                     &C::beta,       &C::weight_decay, &C::l1,
                                     &C::l2,         &C::clip_norm,    &C::weight_bound,
                                     &C::init_range, &C::admit_share};
  for (const auto number : kNumbers) {
    for (const double wrong : {-1.0, 1e39, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
      auto config = table_config(4);
      config.*number = wrong;
      EXPECT_THROW(Table(TableId{0}, config, 1), ConfigError) << wrong;
    }
  }
}

TEST(Table, StepsBeyondTheClockDoNoHarm) {
  for (const auto eviction :
       {config::Eviction::lru, config::Eviction::lfu, config::Eviction::ttl}) {
    auto config = table_config(4, Optimizer::adagrad, 100);
    config.eviction = eviction;
    config.ttl = 10;
    config.half_life = 2;
    Table table(TableId{0}, config, 1);
    for (const Step step : {Step{-1}, Step{1} << 40, Step{1} << 47, Step{1} << 55,
                            std::numeric_limits<Step>::max(), std::numeric_limits<Step>::min()}) {
      lookup(table, id_range(0, 30), step);
      lookup(table, id_range(30, 80), step);
      EXPECT_GE(table.size(), 90) << step;  // the last batch, and at most a grain less than fits
    }
  }
}

TEST(Table, OrderIsByShardThenId) {
  Table table(TableId{2}, table_config(1), 1);
  auto ids = id_range(0, 5000);
  std::reverse(ids.begin(), ids.end());
  lookup(table, ids);
  constexpr std::uint32_t kShards = 37;
  const RowOrder order = table.order_rows(kShards);
  ASSERT_EQ(order.shard_begin.size(), kShards + 1);
  ASSERT_EQ(order.shard_begin.back(), 5000);
  RowBlock block;
  table.export_rows(order.rows, block);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    const auto begin = static_cast<std::size_t>(order.shard_begin[shard]);
    const auto end = static_cast<std::size_t>(order.shard_begin[shard + 1]);
    for (std::size_t i = begin; i < end; ++i) {
      EXPECT_EQ(RowPlacement::shard_of(TableId{2}, block.ids[i], kShards), shard);
      if (i > begin) {
        EXPECT_LT(block.ids[i - 1], block.ids[i]);
      }
    }
  }
}

TEST(Table, MovesKeepTheRows) {
  Table a(TableId{0}, table_config(2), 1);
  const auto rows = lookup(a, id_range(0, 10));
  Table b = std::move(a);
  Table c(TableId{1}, table_config(7), 2);
  c = std::move(b);
  EXPECT_EQ(peek(c, id_range(0, 10)), rows);
}

TEST(Table, AnImportWithAnIdTwiceKeepsItsLastRow) {
  Table table(TableId{0}, table_config(1, Optimizer::sgd), 1);
  RowBlock block;
  block.ids = feature_ids({5, 6, 5});
  block.weights = column(std::vector<float>{1, 2, 3});
  block.touched = {1, 2, 3};
  table.import_rows(block);
  EXPECT_EQ(table.size(), 2);
  EXPECT_EQ(peek(table, feature_ids({5, 6})), (std::vector<float>{3, 2}));
  EXPECT_EQ(export_all(table).size(), 2U);
}

TEST(Table, ABatchWithAnIdTwiceDoesNoHarm) {
  Table table(TableId{0}, table_config(2, Optimizer::sgd, 4), 1);
  const auto rows = lookup(table, feature_ids({1, 1, 2, 1}));
  EXPECT_EQ(table.size(), 2);
  EXPECT_EQ(rows[0], rows[2]);
  EXPECT_EQ(export_all(table).size(), 2U);
}

}  // namespace
}  // namespace satrap::store
