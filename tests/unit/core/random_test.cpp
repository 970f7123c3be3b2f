#include "core/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace satrap {
namespace {

TEST(InitialRow, DependsOnSeedTableAndIdOnly) {
  std::vector<float> a(17), b(17), c(17);
  initial_row(1, TableId{2}, FeatureId{3}, 0.5f, a);
  initial_row(1, TableId{2}, FeatureId{3}, 0.5f, b);
  EXPECT_EQ(a, b);
  initial_row(2, TableId{2}, FeatureId{3}, 0.5f, c);
  EXPECT_NE(a, c);
  initial_row(1, TableId{1}, FeatureId{3}, 0.5f, c);
  EXPECT_NE(a, c);
  initial_row(1, TableId{2}, FeatureId{~0ULL}, 0.5f, c);
  EXPECT_NE(a, c);
}

TEST(InitialRow, IsUniformInItsRange) {
  std::vector<float> row(4);
  double sum = 0, squares = 0;
  constexpr int kRows = 20'000;
  for (int i = 0; i < kRows; ++i) {
    initial_row(7, TableId{0}, FeatureId(i), 2.0f, row);
    for (const float x : row) {
      ASSERT_GE(x, -2.0f);
      ASSERT_LT(x, 2.0f);
      sum += x;
      squares += static_cast<double>(x) * x;
    }
  }
  constexpr double n = 4.0 * kRows;
  EXPECT_NEAR(sum / n, 0.0, 5 * 2 / std::sqrt(3 * n));
  EXPECT_NEAR(squares / n, 4.0 / 3, 0.02);
}

TEST(RandomSequence, RepeatsAndSeparatesStreams) {
  RandomSequence a(1, RandomStream::shuffle), b(1, RandomStream::shuffle),
      c(1, RandomStream::teacher);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const auto x = a();
    EXPECT_EQ(x, b());
    differs |= x != c();
  }
  EXPECT_TRUE(differs);
}

TEST(RandomSequence, NormalHasUnitVariance) {
  RandomSequence random(3, RandomStream::teacher);
  double sum = 0, squares = 0;
  constexpr int n = 100'000;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2.0 / n));
}

TEST(RandomSequence, BelowStaysBelow) {
  RandomSequence random(3, RandomStream::teacher);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.below(7), 7U);
  EXPECT_EQ(random.below(1), 0U);
}

}  // namespace
}  // namespace satrap
