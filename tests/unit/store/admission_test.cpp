#include "store/admission.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/hash.hpp"
#include "unit/store/support.hpp"

namespace satrap::store {
namespace {

using config::Optimizer;
using testing::Each;
using testing::Not;

TEST(AppearanceCounter, AnIdIsAdmittedAtItsAppearance) {
  for (const unsigned needed : {1U, 2U, 3U, 15U}) {
    AppearanceCounter counter("test", 1000);
    for (const std::uint64_t id : {0ULL, 1ULL, ~0ULL}) {
      for (unsigned seen = 1; seen < needed; ++seen) {
        EXPECT_FALSE(counter.count(mix(id + 77), needed)) << seen << " of " << needed;
      }
      EXPECT_TRUE(counter.count(mix(id + 77), needed));
      // And forgotten: it would have to begin again.
      EXPECT_EQ(counter.count(mix(id + 77), needed), needed == 1);
    }
  }
}

// One-hit wonders are many; the stated rate bounds how many of them get in.
TEST(AppearanceCounter, FalseAdmissionsStayBelowTheStatedRate) {
  AppearanceCounter counter("test", 100'000);
  constexpr int kIds = 1'000'000;
  int admitted = 0;
  for (std::uint64_t id = 0; id < kIds; ++id) admitted += counter.count(mix(id), 2);
  const double rate = static_cast<double>(admitted) / kIds;
  std::cout << "false admissions: " << rate << ", stated " << AppearanceCounter::kFalseRate << '\n';
  EXPECT_GT(rate, 0.0);  // or the test would not see any
  // Four standard deviations above the bound.
  EXPECT_LT(rate,
            AppearanceCounter::kFalseRate + 4 * std::sqrt(AppearanceCounter::kFalseRate / kIds));
}

TEST(AppearanceCounter, IdsAreRememberedOverTheirWindow) {
  constexpr std::uint64_t kWindow = 32'000;
  AppearanceCounter counter("test", kWindow);
  const auto remembered = [&](std::uint64_t between) {
    int found = 0;
    for (std::uint64_t id = 0; id < 500; ++id) {
      const std::uint64_t first = (id + 1) << 32;
      counter.count(mix(first), 2);
      for (std::uint64_t other = 1; other <= between / 500; ++other) {
        counter.count(mix(first + other), 2);
      }
    }
    // About `between` ids came behind the first of them, none behind the last.
    for (std::uint64_t id = 0; id < 500; ++id) found += counter.count(mix((id + 1) << 32), 2);
    return found;
  };
  EXPECT_GE(remembered(kWindow / 2), 495);
  EXPECT_LE(remembered(8 * kWindow), 150);
}

TEST(AppearanceCounter, ComesBackAsItWas) {
  AppearanceCounter a("test", 5000), b("test", 5000), other("test", 6000);
  for (std::uint64_t id = 0; id < 5000; ++id) a.count(mix(id % 3000), 5);
  std::vector<std::uint16_t> cells;
  a.save(cells);
  EXPECT_TRUE(b.restore(cells));
  EXPECT_FALSE(other.restore(cells));
  for (std::uint64_t id = 0; id < 6000; ++id) {
    ASSERT_EQ(a.count(mix(id), 3), b.count(mix(id), 3));
  }
}

TEST(Admission, IdsGetTheirRowsAfterSomeAppearances) {
  auto config = table_config(3, Optimizer::sgd);
  config.admit_after = 3;
  Table table(TableId{0}, config, 1);
  const auto ids = id_range(0, 100);
  EXPECT_THAT(lookup(table, ids), Each(0.0f));
  EXPECT_THAT(lookup(table, ids), Each(0.0f));
  EXPECT_EQ(table.size(), 0);
  EXPECT_EQ(table.statistics().not_admitted, 200);
  // Their gradients are counted and go nowhere.
  const std::vector<float> gradients(300, 1.0f);
  table.apply(ids, gradients.data(), {.step = 1});
  EXPECT_EQ(table.statistics().gradients_dropped, 100);

  EXPECT_THAT(lookup(table, ids), Each(Not(0.0f)));
  EXPECT_EQ(table.statistics().inserted, 100);
  table.apply(ids, gradients.data(), {.step = 2});
  EXPECT_EQ(table.statistics().gradients_applied, 100);
}

TEST(Admission, EvaluationDoesNotCount) {
  auto config = table_config(2, Optimizer::sgd);
  config.admit_after = 2;
  Table table(TableId{0}, config, 1);
  for (int i = 0; i < 5; ++i) peek(table, id_range(0, 10));
  lookup(table, id_range(0, 10));
  EXPECT_EQ(table.size(), 0);
}

// Which ids may have rows depends on nothing but the id (and the job's seed and the table).
TEST(Admission, AShareOfTheIds) {
  auto config = table_config(1, Optimizer::sgd);
  config.admit_share = 0.2;
  Table table(TableId{0}, config, 1);
  lookup(table, id_range(0, 50'000));
  EXPECT_NEAR(static_cast<double>(table.size()) / 50'000, 0.2, 0.01);
  const auto rows = export_all(table).ids;
  Table backwards(TableId{0}, config, 1);
  for (std::uint64_t first = 50'000; first > 0; first -= 1000) {
    lookup(backwards, id_range(first - 1000, 1000));
  }
  EXPECT_EQ(export_all(backwards).ids, rows);
  lookup(table, id_range(0, 50'000));
  EXPECT_EQ(export_all(table).ids, rows);
}

TEST(Admission, IdsWithoutRowsMayShareOne) {
  auto config = table_config(4, Optimizer::sgd);
  config.admit_after = 2;
  config.not_admitted = config::NotAdmitted::shared_row;
  Table table(TableId{0}, config, 1);
  const auto first = lookup(table, feature_ids({5, 6}));
  EXPECT_THAT(first, Each(Not(0.0f)));
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + 4, first.begin() + 4));
  const std::vector<float> gradients(8, 1.0f);
  table.apply(feature_ids({5, 6}), gradients.data(), {});
  EXPECT_EQ(peek(table, feature_ids({5, 7})), first);  // nothing updates it
  const auto own = lookup(table, feature_ids({5, 6}));
  EXPECT_FALSE(std::equal(own.begin(), own.begin() + 4, own.begin() + 4));
}

// The misalignment trap with ids that were never admitted in between.
TEST(Admission, GradientsReachTheRowsOfTheirOwnIds) {
  auto config = table_config(1, Optimizer::sgd);
  config.admit_share = 0.5;
  config.lr = 1.0;
  Table table(TableId{0}, config, 1);
  const auto ids = id_range(0, 1000);
  const auto before = lookup(table, ids);
  std::vector<float> gradients(1000);
  for (std::size_t i = 0; i < 1000; ++i) gradients[i] = static_cast<float>(i + 1);
  table.apply(ids, gradients.data(), {});
  const auto after = peek(table, ids);
  for (std::size_t i = 0; i < 1000; ++i) {
    const float expected = before[i] == 0.0f ? 0.0f : before[i] - gradients[i];
    ASSERT_FLOAT_EQ(after[i], expected);
  }
}

}  // namespace
}  // namespace satrap::store
