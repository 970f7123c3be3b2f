#include "nn/loss.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace satrap::nn {
namespace {

TEST(BceWithLogits, OfZeroIsLogTwo) {
  const std::vector<float> logits = {0.0f, 0.0f};
  const std::vector<float> labels = {0.0f, 1.0f};
  std::vector<float> gradients(2);

  EXPECT_DOUBLE_EQ(bce_with_logits(2, logits.data(), labels.data(), 0.5f, gradients.data()),
                   2 * std::log(2.0));
  EXPECT_EQ(gradients[0], 0.25f);
  EXPECT_EQ(gradients[1], -0.25f);
}

TEST(BceWithLogits, AgreesWithItsDefinition) {
  for (float z = -12.0f; z <= 12.0f; z += 0.37f) {
    for (const float y : {0.0f, 1.0f}) {
      float gradient = 0.0f;
      const double loss = bce_with_logits(1, &z, &y, 2.0f, &gradient);
      const double p = 1.0 / (1.0 + std::exp(-static_cast<double>(z)));

      EXPECT_NEAR(loss, y > 0.0f ? -std::log(p) : -std::log(1.0 - p), 1e-9);
      EXPECT_NEAR(gradient, 2.0 * (p - static_cast<double>(y)), 1e-6);
    }
  }
}

TEST(BceWithLogits, StaysExactFarOut) {
  const std::vector<float> logits = {200.0f, -200.0f, 200.0f, -200.0f};
  const std::vector<float> labels = {1.0f, 0.0f, 0.0f, 1.0f};
  std::vector<float> gradients(4);

  EXPECT_DOUBLE_EQ(bce_with_logits(4, logits.data(), labels.data(), 1.0f, gradients.data()), 400.0);
  EXPECT_EQ(gradients, (std::vector<float>{0.0f, 0.0f, 1.0f, -1.0f}));
}

TEST(BceWithLogits, OfNothingIsZero) {
  EXPECT_EQ(bce_with_logits(0, nullptr, nullptr, 1.0f, nullptr), 0.0);
}

TEST(BceWithLogits, IsNotFiniteIfALogitIsNot) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const float y : {0.0f, 1.0f}) {
      const std::vector<float> logits = {1.0f, bad};
      const std::vector<float> labels = {1.0f, y};
      std::vector<float> gradients(2);
      EXPECT_FALSE(
          std::isfinite(bce_with_logits(2, logits.data(), labels.data(), 1.0f, gradients.data())))
          << bad << " with label " << y;
    }
  }
}

}  // namespace
}  // namespace satrap::nn
