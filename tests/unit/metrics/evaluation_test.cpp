#include "metrics/evaluation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "core/error.hpp"

namespace satrap::metrics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The definition of the AUC: the share of (positive, negative) pairs in the right order.
double auc_by_pairs(const std::vector<Scored>& scored) {
  double wins = 0;
  double pairs = 0;
  for (const Scored& p : scored) {
    for (const Scored& n : scored) {
      if (p.label != 1.0f || n.label != 0.0f) continue;
      pairs += 1;
      wins += p.logit > n.logit ? 1.0 : p.logit == n.logit ? 0.5 : 0.0;
    }
  }
  return wins / pairs;
}

/// Coarse logits, so that there are many ties.
std::vector<Scored> random_samples(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Scored> out(n);
  for (Scored& s : out) {
    s.logit = 0.25f * static_cast<float>(static_cast<int>(random() % 33) - 16);
    s.label = random() % 3 == 0 ? 1.0f : 0.0f;
  }
  return out;
}

TEST(Evaluate, GivesKnownValues) {
  // sklearn 1.x: roc_auc_score, log_loss; and by hand.
  const std::vector<float> p = {0.1f, 0.4f, 0.35f, 0.8f};
  const std::vector<float> y = {0, 0, 1, 1};
  const Evaluation e = evaluate_probabilities(p, y);
  EXPECT_EQ(e.samples, 4);
  EXPECT_DOUBLE_EQ(e.base_rate, 0.5);
  EXPECT_DOUBLE_EQ(*e.auc, 0.75);
  EXPECT_NEAR(e.log_loss, 0.4722879, 1e-6);
  EXPECT_NEAR(*e.normalized_entropy, 0.4722879 / std::log(2.0), 1e-6);
  EXPECT_NEAR(*e.calibration, 1.65 / 2.0, 1e-6);
}

TEST(Evaluate, AgreesWithTheDefinitionOfTheAuc) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    std::vector<Scored> scored = random_samples(300, seed);
    const double expected = auc_by_pairs(scored);
    EXPECT_DOUBLE_EQ(*evaluate(scored).auc, expected);
  }
}

TEST(Evaluate, LogitsAndProbabilitiesAgree) {
  std::vector<Scored> scored = random_samples(1000, 7);
  std::vector<float> p;
  std::vector<float> y;
  for (const Scored& s : scored) {
    p.push_back(1.0f / (1.0f + std::exp(-s.logit)));
    y.push_back(s.label);
  }
  const Evaluation a = evaluate(scored);
  const Evaluation b = evaluate_probabilities(p, y);
  EXPECT_DOUBLE_EQ(*a.auc, *b.auc);
  EXPECT_NEAR(a.log_loss, b.log_loss, 1e-6);
  EXPECT_NEAR(*a.calibration, *b.calibration, 1e-6);
}

TEST(Evaluate, IsAFunctionOfTheMultiset) {
  std::vector<Scored> scored = random_samples(5000, 3);
  std::vector<Scored> shuffled = scored;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(11));
  const Evaluation a = evaluate(scored);
  const Evaluation b = evaluate(shuffled);
  EXPECT_EQ(a.log_loss, b.log_loss);
  EXPECT_EQ(a.auc, b.auc);
  EXPECT_EQ(a.calibration, b.calibration);
  EXPECT_EQ(a.normalized_entropy, b.normalized_entropy);
}

TEST(Evaluate, AllScoresEqualIsOneHalf) {
  std::vector<Scored> scored = {{0.5f, 1}, {0.5f, 0}, {0.5f, 0}};
  EXPECT_DOUBLE_EQ(*evaluate(scored).auc, 0.5);
}

TEST(Evaluate, SignedZerosTie) {
  std::vector<Scored> scored = {{-0.0f, 1}, {0.0f, 0}};
  EXPECT_DOUBLE_EQ(*evaluate(scored).auc, 0.5);
}

TEST(Evaluate, OneClassHasNoAuc) {
  std::vector<Scored> negatives = {{1.0f, 0}, {2.0f, 0}};
  const Evaluation none = evaluate(negatives);
  EXPECT_FALSE(none.auc || none.normalized_entropy || none.calibration);
  EXPECT_GT(none.log_loss, 1.0);

  std::vector<Scored> positives = {{1.0f, 1}, {2.0f, 1}};
  const Evaluation all = evaluate(positives);
  EXPECT_FALSE(all.auc || all.normalized_entropy);
  EXPECT_TRUE(all.calibration);
}

TEST(Evaluate, NoSamplesAtAll) {
  std::vector<Scored> nothing;
  const Evaluation e = evaluate(nothing);
  EXPECT_EQ(e.samples, 0);
  EXPECT_FALSE(e.auc || e.normalized_entropy || e.calibration);
}

TEST(Evaluate, ClampsProbabilities) {
  const double worst = -std::log(1e-7);
  const double best = -std::log1p(-1e-7);
  for (const float extreme : {30.0f, 1000.0f, kInfinity}) {
    std::vector<Scored> wrong = {{extreme, 0}, {-extreme, 1}};
    EXPECT_NEAR(evaluate(wrong).log_loss, worst, 1e-12);
    std::vector<Scored> right = {{extreme, 1}, {-extreme, 0}};
    EXPECT_NEAR(evaluate(right).log_loss, best, 1e-12);
    EXPECT_DOUBLE_EQ(*evaluate(right).auc, 1.0);
  }
  const std::vector<float> p = {1.0f, 0.0f};
  EXPECT_NEAR(evaluate_probabilities(p, std::vector<float>{0, 1}).log_loss, worst, 1e-12);
  EXPECT_NEAR(evaluate_probabilities(p, std::vector<float>{1, 0}).log_loss, best, 1e-12);
}

TEST(Evaluate, SmallProbabilitiesKeepTheirDigits) {
  // From a float probability this would be 1 - 1 = 0.
  std::vector<Scored> scored = {{14.0f, 1}};
  EXPECT_NEAR(evaluate(scored).log_loss, std::log1p(std::exp(-14.0)), 1e-18);
}

TEST(Evaluate, RefusesNan) {
  std::vector<Scored> scored = {{1.0f, 0}, {std::nanf(""), 1}};
  EXPECT_THROW(evaluate(scored), NumericalError);
}

TEST(Evaluate, CountsPairsExactly) {
  // 2e5 x 2e5 pairs: more than a float or a 32-bit counter holds. One pair is in the wrong order.
  constexpr std::size_t kEach = 200'000;
  std::vector<Scored> scored(2 * kEach);
  for (std::size_t i = 0; i < kEach; ++i) {
    scored[i] = {-1.0f, 0};
    scored[kEach + i] = {1.0f, 1};
  }
  scored[0].logit = 3.0f;  // above all positives but one,
  scored[kEach].logit = 4.0f;
  const double pairs = static_cast<double>(kEach) * kEach;
  EXPECT_DOUBLE_EQ(*evaluate(scored).auc, (pairs - (kEach - 1.0)) / pairs);
}

}  // namespace
}  // namespace satrap::metrics
