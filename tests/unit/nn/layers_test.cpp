#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "device/threads.hpp"
#include "nn/batch_norm.hpp"
#include "nn/interaction.hpp"
#include "nn/linear.hpp"
#include "nn/matmul_time.hpp"
#include "reference.hpp"

namespace satrap::nn {
namespace {

using reference::expect_near;
using reference::Matrix;
using reference::random_floats;
using reference::Values;
using ::testing::Each;

std::size_t size(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

/// Σ y · upstream: a scalar whose gradient by y is `upstream`.
double weighted_sum(const Matrix& y, const std::vector<float>& upstream) {
  double sum = 0.0;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    sum += y.values[i] * static_cast<double>(upstream[i]);
  }
  return sum;
}

/// Copies a dense matrix into one of wider rows.
std::vector<float> with_stride(const std::vector<float>& values, std::int64_t columns,
                               std::int64_t stride) {
  std::vector<float> wide(values.size() / size(columns) * size(stride), -7.0f);
  for (std::size_t i = 0; i < values.size(); ++i) {
    wide[i / size(columns) * size(stride) + i % size(columns)] = values[i];
  }
  return wide;
}

struct LinearCase {
  std::int64_t batch, in, out, extra_stride;
  Linear::Output output;
};

class LinearTest : public ::testing::TestWithParam<LinearCase> {};

TEST_P(LinearTest, AgreesWithDifferencesOfTheReference) {
  const auto [batch, in, out, extra, output] = GetParam();
  const std::int64_t stride = out + extra;
  const bool relu = output == Linear::Output::relu;
  std::vector<ParameterInfo> layout;
  add_array(layout, "other", {5});
  Linear layer(layout, "layer", {in, out, true}, output, stride);
  const std::vector<float> parameters = random_floats(size(total_size(layout)), 1);
  const std::vector<float> x = random_floats(size(batch * in), 2);
  const std::vector<float> upstream = random_floats(size(batch * out), 3);
  Matrix rx = reference::matrix(size(batch), size(in), x);
  Values weight(parameters.begin() + 5, parameters.begin() + 5 + in * out);
  Values bias(parameters.begin() + 5 + in * out, parameters.end());

  std::vector<float> y(size(batch * stride), -7.0f);
  layer.forward(parameters.data(), batch, x.data(), y.data());
  std::vector<float> dy = with_stride(upstream, out, stride);
  std::vector<float> dx(x.size());
  std::vector<float> gradients(parameters.size(), 99.0f);
  layer.backward(device::Stream(), parameters.data(), batch, x.data(), y.data(), dy.data(),
                 dx.data(), gradients.data());

  const Matrix ry = reference::linear(rx, weight, bias, relu);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t column = i % size(stride);
    if (column >= size(out)) {
      ASSERT_EQ(y[i], -7.0f) << "wrote between the rows";
    } else {
      ASSERT_NEAR(y[i], ry.at(i / size(stride), column), 1e-4);
    }
  }
  const auto f = [&] { return weighted_sum(reference::linear(rx, weight, bias, relu), upstream); };
  const auto gradient = [&](std::int64_t begin, std::int64_t n) {
    return std::vector<float>(gradients.begin() + begin, gradients.begin() + begin + n);
  };
  expect_near(gradient(5, in * out), reference::differences(weight, f), 1e-3, "weight");
  expect_near(gradient(5 + in * out, out), reference::differences(bias, f), 1e-3, "bias");
  expect_near(dx, reference::differences(rx.values, f), 1e-3, "x");
  EXPECT_THAT(gradient(0, 5), Each(99.0f));
}

INSTANTIATE_TEST_SUITE_P(Shapes, LinearTest,
                         ::testing::Values(LinearCase{1, 1, 1, 0, Linear::Output::linear},
                                           LinearCase{3, 5, 2, 0, Linear::Output::relu},
                                           LinearCase{7, 13, 19, 4, Linear::Output::relu},
                                           LinearCase{17, 9, 33, 1, Linear::Output::linear},
                                           LinearCase{33, 20, 1, 0, Linear::Output::linear},
                                           LinearCase{5, 37, 16, 0, Linear::Output::relu}));

TEST(Linear, OfNoSamplesHasZeroGradients) {
  std::vector<ParameterInfo> layout;
  Linear layer(layout, "layer", {3, 2, true}, Linear::Output::relu);
  const std::vector<float> parameters = random_floats(size(total_size(layout)), 1);
  std::vector<float> gradients(parameters.size(), 99.0f);

  layer.forward(parameters.data(), 0, nullptr, nullptr);
  layer.backward(device::Stream(), parameters.data(), 0, nullptr, nullptr, nullptr, nullptr,
                 gradients.data());

  EXPECT_THAT(gradients, Each(0.0f));
}

TEST(Linear, TakesAnyNumberOfBatchSizes) {
  std::vector<ParameterInfo> layout;
  Linear layer(layout, "layer", {3, 4, true}, Linear::Output::linear);
  const std::vector<float> parameters = random_floats(size(total_size(layout)), 1);
  const std::vector<float> x = random_floats(3 * 40, 2);
  std::vector<float> all(4 * 40);
  layer.forward(parameters.data(), 40, x.data(), all.data());

  for (std::int64_t batch = 39; batch > 0; --batch) {
    std::vector<float> y(size(4 * batch));
    layer.forward(parameters.data(), batch, x.data(), y.data());
    expect_near(y, Values(all.begin(), all.begin() + 4 * batch), 1e-5, "y");
  }
}

/// "Threads:" of this process, as the system counts them.
int threads_of_process() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("Threads:")) return std::stoi(line.substr(8));
  }
  return -1;
}

/// Threads that the products of a layer start when a new thread runs them.
int threads_started() {
  int started = 0;
  std::thread([&] {
    const int before = threads_of_process();
    matmul_seconds(std::vector<LinearShape>{{256, 256, true}}, 512, 1);
    started = threads_of_process() - before;
  }).join();
  return started;
}

// The test runs with OMP_NUM_THREADS=4.
TEST(Linear, UsesTheCallingThreadOnlyUnlessToldOtherwise) {
  EXPECT_EQ(threads_started(), 0);

  device::set_compute_threads(3);
  EXPECT_EQ(threads_started(), 2);
  device::set_compute_threads(1);
}

TEST(MatmulSeconds, GrowsWithTheWork) {
  const std::vector<LinearShape> one{{256, 256, true}};
  const std::vector<LinearShape> nine(9, one.front());

  EXPECT_GT(matmul_seconds(one, 256, 1), 0.0);
  EXPECT_GT(matmul_seconds(nine, 256, 20), 2 * matmul_seconds(one, 256, 20));
}

class InteractionTest : public ::testing::TestWithParam<std::array<std::int64_t, 3>> {};

TEST_P(InteractionTest, AgreesWithDifferencesOfTheReference) {
  const auto [batch, slots, dim] = GetParam();
  Interaction interaction(slots, dim);
  const std::vector<float> bottom = random_floats(size(batch * dim), 1);
  const std::vector<float> pooled = random_floats(size(batch * slots * dim), 2);
  const std::vector<float> upstream = random_floats(size(batch * interaction.width()), 3);
  Matrix rb = reference::matrix(size(batch), size(dim), bottom);
  Matrix rp = reference::matrix(size(batch), size(slots * dim), pooled);
  const auto whole = [&] {
    return reference::join(rb, reference::products(reference::join(rb, rp), size(dim)));
  };

  std::vector<float> out(upstream.size());
  interaction.forward(batch, bottom.data(), pooled.data(), out.data());
  std::vector<float> d_bottom(bottom.size());
  std::vector<float> d_pooled(pooled.size());
  interaction.backward(batch, bottom.data(), pooled.data(), upstream.data(), d_bottom.data(),
                       d_pooled.data());

  expect_near(out, whole().values, 1e-4, "out");
  const auto f = [&] { return weighted_sum(whole(), upstream); };
  expect_near(d_bottom, reference::differences(rb.values, f), 1e-4, "bottom");
  expect_near(d_pooled, reference::differences(rp.values, f), 1e-4, "pooled");
}

INSTANTIATE_TEST_SUITE_P(Shapes, InteractionTest,
                         ::testing::Values(std::array<std::int64_t, 3>{1, 1, 1},
                                           std::array<std::int64_t, 3>{3, 2, 5},
                                           std::array<std::int64_t, 3>{2, 8, 8},
                                           std::array<std::int64_t, 3>{2, 16, 4},
                                           std::array<std::int64_t, 3>{3, 9, 19},
                                           std::array<std::int64_t, 3>{2, 26, 16}));

/// A batch normalisation of 3 columns, whose output has rows of 5.
class BatchNormTest : public ::testing::Test {
 protected:
  static constexpr std::int64_t kWidth = 3;
  static constexpr std::int64_t kStride = 5;

  std::vector<ParameterInfo> layout_;
  std::vector<ParameterInfo> state_layout_;
  BatchNorm norm_{layout_, state_layout_, "bn", kWidth, kStride};
  std::vector<float> parameters_ = {0.5f, -2.0f, 1.5f, 0.1f, 0.2f, -0.3f};
  std::vector<float> state_ = {0.0f, 0.0f, 0.0f, 1.0f, 1.0f, 1.0f};

  std::vector<float> forward(const std::vector<float>& x, bool training) {
    const std::int64_t batch = static_cast<std::int64_t>(x.size()) / kWidth;
    std::vector<float> y(size(batch * kStride), -7.0f);
    norm_.forward(device::Stream(), parameters_.data(), state_.data(), batch, x.data(), y.data(),
                  training);
    return y;
  }
};

TEST_F(BatchNormTest, AgreesWithDifferencesOfTheReference) {
  constexpr std::int64_t kBatch = 7;
  const std::vector<float> x = random_floats(size(kBatch * kWidth), 1);
  const std::vector<float> upstream = random_floats(size(kBatch * kWidth), 2);
  Matrix rx = reference::matrix(size(kBatch), size(kWidth), x);
  Values scale(parameters_.begin(), parameters_.begin() + kWidth);
  Values shift(parameters_.begin() + kWidth, parameters_.end());
  const auto whole = [&] { return reference::batch_norm(rx, scale, shift); };
  const auto f = [&] { return weighted_sum(whole(), upstream); };

  const std::vector<float> y = forward(x, true);
  const std::vector<float> dy = with_stride(upstream, kWidth, kStride);
  std::vector<float> dx(x.size());
  std::vector<float> gradients(parameters_.size());
  norm_.backward(device::Stream(), parameters_.data(), dy.data(), dx.data(), gradients.data());

  const Matrix expected = whole();
  for (std::size_t i = 0; i < size(kBatch * kWidth); ++i) {
    ASSERT_NEAR(y[i / 3 * size(kStride) + i % 3], expected.values[i], 1e-5);
  }
  expect_near(dx, reference::differences(rx.values, f), 1e-4, "x");
  Values parameter_gradients = reference::differences(scale, f);
  std::ranges::copy(reference::differences(shift, f), std::back_inserter(parameter_gradients));
  expect_near(gradients, parameter_gradients, 1e-4, "scale and shift");
}

TEST_F(BatchNormTest, MovesItsStatisticsByATenthTowardsThoseOfTheBatch) {
  forward({1, 0, 4, 3, 0, 8}, true);

  // Means 2, 0, 6; unbiased variances 2, 0, 8.
  expect_near(state_, {0.2, 0.0, 0.6, 1.1, 0.9, 1.7}, 1e-6, "state");
}

TEST_F(BatchNormTest, UsesThemInEvaluationAndLeavesThemAlone) {
  state_ = {1.0f, 2.0f, 3.0f, 4.0f, 0.25f, 1.0f};
  const std::vector<float> before = state_;

  const std::vector<float> y = forward({3, 2, 3, 1, 3, 4}, false);

  EXPECT_EQ(state_, before);
  EXPECT_NEAR(y[0], 0.5 * 1.0 + 0.1, 1e-4);
  EXPECT_NEAR(y[1], 0.2, 1e-4);
  EXPECT_NEAR(y[5], 0.1, 1e-4);
  EXPECT_NEAR(y[6], -2.0 * 2.0 + 0.2, 1e-3);
  EXPECT_NEAR(y[7], 1.5 * 1.0 - 0.3, 1e-4);
}

TEST_F(BatchNormTest, TrainsASingleSampleByTheRunningStatistics) {
  const std::vector<float> before = state_;

  const std::vector<float> x = {1, 2, 3};
  const std::vector<float> y = forward(x, true);
  const std::vector<float> dy = {1, 1, 1, 0, 0};
  std::vector<float> dx(3);
  std::vector<float> gradients(6);
  norm_.backward(device::Stream(), parameters_.data(), dy.data(), dx.data(), gradients.data());

  EXPECT_EQ(state_, before);
  expect_near(std::span(y).first(3), {0.6, -3.8, 4.2}, 1e-4, "y");
  expect_near(dx, {0.5, -2.0, 1.5}, 1e-4, "dx");
  expect_near(gradients, {1, 2, 3, 1, 1, 1}, 1e-4, "gradients");
}

TEST_F(BatchNormTest, OfNoSamplesChangesNothing) {
  const std::vector<float> before = state_;
  std::vector<float> gradients(6, 99.0f);

  forward({}, true);
  norm_.backward(device::Stream(), parameters_.data(), nullptr, nullptr, gradients.data());

  EXPECT_EQ(state_, before);
  EXPECT_THAT(gradients, Each(0.0f));
}

TEST_F(BatchNormTest, OfAConstantColumnIsFinite) {
  const std::vector<float> y = forward({5, 5, 5, 5, 5, 5, 5, 5, 5}, true);

  EXPECT_NEAR(y[0], 0.1, 1e-6);
  EXPECT_NEAR(y[1], 0.2, 1e-6);
}

}  // namespace
}  // namespace satrap::nn
