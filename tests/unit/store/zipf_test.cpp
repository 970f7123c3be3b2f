#include "store/capacity/zipf.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace satrap::store {
namespace {

class ZipfExponents : public ::testing::TestWithParam<double> {};

TEST_P(ZipfExponents, ShareOfEachRankIsTheLaws) {
  const double s = GetParam();
  constexpr std::size_t kRanks = 50;
  constexpr int kDraws = 200'000;
  std::vector<double> law(kRanks + 1);
  double sum = 0;
  for (std::size_t k = 1; k <= kRanks; ++k) sum += law[k] = std::pow(k, -s);

  const Zipf zipf(kRanks, s);
  RandomSequence random(3, RandomStream::teacher);
  std::vector<int> counts(kRanks + 1);
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t rank = zipf(random);
    ASSERT_GE(rank, 1U);
    ASSERT_LE(rank, kRanks);
    ++counts[rank];
  }
  for (std::size_t k = 1; k <= kRanks; ++k) {
    const double expected = kDraws * law[k] / sum;
    EXPECT_NEAR(counts[k], expected, 5 * std::sqrt(expected) + 1) << "rank " << k;
  }
}

INSTANTIATE_TEST_SUITE_P(Zipf, ZipfExponents, ::testing::Values(0.0, 0.5, 0.999999, 1.0, 1.05, 4.0),
                         [](const auto& each) { return "n" + std::to_string(each.index); });

TEST(Zipf, SharesOfDecadesOfAHugeSpaceAreTheLaws) {
  constexpr std::int64_t kRanks = 100'000'000'000'000;
  constexpr int kDraws = 100'000;
  // P(rank <= x) by Euler-Maclaurin: the sum up to x is zeta(s) - x^(1-s)/(s-1) + x^-s/2, nearly.
  constexpr double s = 1.05;
  constexpr double zeta = 20.580844302;
  const auto below = [](double x) {
    return zeta - std::pow(x, 1 - s) / (s - 1) + std::pow(x, -s) / 2;
  };
  const Zipf zipf(kRanks, s);
  RandomSequence random(4, RandomStream::teacher);
  std::vector<int> decades(15);
  for (int i = 0; i < kDraws; ++i) {
    ++decades[static_cast<std::size_t>(std::log10(static_cast<double>(zipf(random))))];
  }
  for (std::size_t d = 1; d < 14; ++d) {
    const double low = std::pow(10.0, d) - 1;
    const double high = std::pow(10.0, d + 1) - 1;
    const double expected = kDraws * (below(high) - below(low)) / below(1e14);
    EXPECT_NEAR(decades[d], expected, 5 * std::sqrt(expected)) << "from 10^" << d;
  }
}

}  // namespace
}  // namespace satrap::store
