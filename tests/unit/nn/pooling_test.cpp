#include "nn/pooling.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "reference.hpp"

namespace satrap::nn {
namespace {

using reference::expect_near;
using reference::random_floats;
using reference::Values;

/// Four bags over five rows: two rows, none, the same row three times, one row. Row 4 is in none.
const std::vector<std::uint32_t> kIndices = {0, 2, 3, 3, 3, 1};
const std::vector<std::uint32_t> kOffsets = {0, 2, 2, 5, 6};
constexpr std::size_t kRows = 5;
constexpr std::size_t kBags = 4;

struct PoolingCase {
  std::int64_t dim;
  config::Pooling pooling;
};

class PoolingTest : public ::testing::TestWithParam<PoolingCase> {
 protected:
  std::size_t dim_ = static_cast<std::size_t>(GetParam().dim);
  std::size_t stride_ = dim_ + 3;
  BagView bags_{kBags, kIndices.data(), kOffsets.data(), GetParam().dim, GetParam().pooling};
  std::vector<float> rows_ = random_floats(kRows * dim_, 1);

  /// What row k of a bag counts for.
  double weight(std::size_t bag) const {
    const std::uint32_t size = kOffsets[bag + 1] - kOffsets[bag];
    return GetParam().pooling == config::Pooling::mean && size > 0 ? 1.0 / size : 1.0;
  }
};

TEST_P(PoolingTest, ForwardWeighsTheRowsOfEachBag) {
  Values expected(kBags * stride_, -7.0);
  for (std::size_t bag = 0; bag < kBags; ++bag) {
    for (std::size_t d = 0; d < dim_; ++d) {
      double& sum = expected[bag * stride_ + d] = 0.0;
      for (std::uint32_t k = kOffsets[bag]; k < kOffsets[bag + 1]; ++k) {
        sum += weight(bag) * static_cast<double>(rows_[kIndices[k] * dim_ + d]);
      }
    }
  }

  std::vector<float> out(kBags * stride_, -7.0f);
  pool_forward(bags_, rows_.data(), out.data(), static_cast<std::int64_t>(stride_));

  expect_near(out, expected, 1e-6, "out");
}

TEST_P(PoolingTest, BackwardAddsToTheRowsOfEachBag) {
  const std::vector<float> gradients = random_floats(kBags * stride_, 2);
  Values expected(kRows * dim_, 0.5);
  for (std::size_t bag = 0; bag < kBags; ++bag) {
    for (std::uint32_t k = kOffsets[bag]; k < kOffsets[bag + 1]; ++k) {
      for (std::size_t d = 0; d < dim_; ++d) {
        expected[kIndices[k] * dim_ + d] +=
            weight(bag) * static_cast<double>(gradients[bag * stride_ + d]);
      }
    }
  }

  std::vector<float> row_gradients(kRows * dim_, 0.5f);
  pool_backward(bags_, gradients.data(), static_cast<std::int64_t>(stride_), row_gradients.data());

  expect_near(row_gradients, expected, 1e-6, "row gradients");
}

INSTANTIATE_TEST_SUITE_P(Dims, PoolingTest, ::testing::ValuesIn([] {
                           std::vector<PoolingCase> cases;
                           for (const std::int64_t dim : {1, 3, 8, 16, 20, 32, 64, 128, 131}) {
                             cases.push_back({dim, config::Pooling::sum});
                             cases.push_back({dim, config::Pooling::mean});
                           }
                           return cases;
                         }()),
                         [](const auto& test) {
                           return (test.param.pooling == config::Pooling::sum ? "sum" : "mean") +
                                  std::to_string(test.param.dim);
                         });

/// Bags of ids that are sums of two rows each: [1, 4], none, [4] in rows 0-1, 2-3, 2-3.
TEST(Pooling, MeanOfIdsThatAreSumsOfRows) {
  const std::vector<std::uint32_t> indices = {0, 1, 2, 3, 2, 3};
  const std::vector<std::uint32_t> offsets = {0, 4, 4, 6};
  const std::vector<float> rows = {1, 10, 2, 20, 4, 40, 8, 80};  // [4, 2]
  for (const bool mean : {false, true}) {
    SCOPED_TRACE(mean ? "mean" : "sum");
    const BagView bags{.batch = 3,
                       .indices = indices.data(),
                       .offsets = offsets.data(),
                       .dim = 2,
                       .pooling = mean ? config::Pooling::mean : config::Pooling::sum,
                       .rows_per_id = 2};
    std::vector<float> out(6, -7.0f);
    pool_forward(bags, rows.data(), out.data(), 2);
    const float half = mean ? 0.5f : 1.0f;
    EXPECT_EQ(out, (std::vector<float>{15 * half, 150 * half, 0, 0, 12, 120}));

    const std::vector<float> gradients = {2, 4, 64, 64, 100, 200};
    std::vector<float> row_gradients(8, 1.0f);
    pool_backward(bags, gradients.data(), 2, row_gradients.data());
    const float a = 2 * half;
    const float b = 4 * half;
    EXPECT_EQ(row_gradients,
              (std::vector<float>{1 + a, 1 + b, 1 + a, 1 + b, 101 + a, 201 + b, 101 + a, 201 + b}));
  }
}

TEST(Pooling, OfNoSamplesDoesNothing) {
  const std::vector<std::uint32_t> offsets = {0};
  const BagView bags{0, nullptr, offsets.data(), 8, config::Pooling::sum};

  pool_forward(bags, nullptr, nullptr, 8);
  pool_backward(bags, nullptr, 8, nullptr);
}

TEST(Pooling, GivesARowTheSameSumWhereverItStands) {
  // The same bags over rows in another order: sums of one row are taken in the order of samples.
  const std::vector<std::uint32_t> order = {4, 0, 3, 1, 2};
  std::vector<std::uint32_t> renumbered;
  for (const std::uint32_t index : kIndices) renumbered.push_back(order[index]);
  const std::vector<float> gradients = random_floats(kBags * 8, 2);
  std::vector<float> first(kRows * 8);
  std::vector<float> second(kRows * 8);

  pool_backward({kBags, kIndices.data(), kOffsets.data(), 8, config::Pooling::mean},
                gradients.data(), 8, first.data());
  pool_backward({kBags, renumbered.data(), kOffsets.data(), 8, config::Pooling::mean},
                gradients.data(), 8, second.data());

  for (std::size_t row = 0; row < kRows; ++row) {
    EXPECT_TRUE(std::equal(first.begin() + std::ptrdiff_t(row * 8),
                           first.begin() + std::ptrdiff_t(row * 8 + 8),
                           second.begin() + std::ptrdiff_t(order[row] * 8)));
  }
}

}  // namespace
}  // namespace satrap::nn
