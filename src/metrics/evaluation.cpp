#include "metrics/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/error.hpp"

namespace satrap::metrics {

namespace {

constexpr double kMinProbability = 1e-7;

struct Prediction {
  double probability;
  double loss;  ///< -log of the (clamped) probability of the label
};

Prediction from_logit(double logit, bool positive) {
  // Clamping the logit is clamping the probability: log((1 - 1e-7) / 1e-7).
  static const double kMaxLogit = std::log1p(-kMinProbability) - std::log(kMinProbability);
  const double z = std::clamp(positive ? -logit : logit, -kMaxLogit, kMaxLogit);
  // log(1 + e^z), the loss of a sample whose label is against z, without overflow.
  const double loss = std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)));
  return {1.0 / (1.0 + std::exp(-logit)), loss};
}

Prediction from_probability(double p, bool positive) {
  const double of_label = positive ? p : 1.0 - p;
  return {p, -std::log(std::clamp(of_label, kMinProbability, 1.0 - kMinProbability))};
}

double entropy(double rate) {
  return -rate * std::log(rate) - (1.0 - rate) * std::log1p(-rate);
}

bool is_positive(const Scored& s) {
  return s.label > 0.5f;
}

/// By score, then label: one order for one multiset, so that sums do not depend on where the
/// samples came from.
void sort(std::vector<Scored>& scored) {
  for (const Scored& s : scored) {
    if (std::isnan(s.logit)) {
      throw NumericalError("cannot evaluate predictions", "one of them is NaN",
                           "lower the learning rate, or look for the step where the loss grew");
    }
  }
  std::sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) {
    return a.logit != b.logit ? a.logit < b.logit : a.label < b.label;
  });
}

/// Pairs of a positive and a negative sample that are in the right order, times two so that a tie
/// counts 1. Exact: at most 2 * 3e9 * 3e9 < 2^64.
std::uint64_t ordered_pairs_doubled(const std::vector<Scored>& sorted) {
  std::uint64_t pairs = 0;
  std::uint64_t negatives_below = 0;
  for (auto tie = sorted.begin(); tie != sorted.end();) {
    const auto tie_end =
        std::find_if(tie, sorted.end(), [&](const Scored& s) { return s.logit != tie->logit; });
    const auto positives = static_cast<std::uint64_t>(std::count_if(tie, tie_end, is_positive));
    const auto negatives = static_cast<std::uint64_t>(tie_end - tie) - positives;
    pairs += positives * (2 * negatives_below + negatives);
    negatives_below += negatives;
    tie = tie_end;
  }
  return pairs;
}

template <class Predict>
Evaluation evaluate_sorted(const std::vector<Scored>& sorted, Predict predict) {
  Evaluation out;
  out.samples = static_cast<std::int64_t>(sorted.size());
  if (sorted.empty()) return out;

  double positives = 0;
  double probabilities = 0;
  double loss = 0;
  for (const Scored& s : sorted) {
    const Prediction p = predict(s.logit, is_positive(s));
    positives += is_positive(s);
    probabilities += p.probability;
    loss += p.loss;
  }
  const auto n = static_cast<double>(sorted.size());
  const double negatives = n - positives;
  out.base_rate = positives / n;
  out.log_loss = loss / n;
  if (positives > 0) out.calibration = probabilities / positives;
  if (positives > 0 && negatives > 0) {
    out.auc = static_cast<double>(ordered_pairs_doubled(sorted)) / (2.0 * positives * negatives);
    out.normalized_entropy = out.log_loss / entropy(out.base_rate);
  }
  return out;
}

}  // namespace

Evaluation evaluate(std::vector<Scored>& scored) {
  sort(scored);
  return evaluate_sorted(scored, from_logit);
}

Evaluation evaluate_probabilities(std::span<const float> probabilities,
                                  std::span<const float> labels) {
  SATRAP_EXPECT(probabilities.size() == labels.size());
  std::vector<Scored> scored(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) scored[i] = {probabilities[i], labels[i]};
  sort(scored);
  return evaluate_sorted(scored, from_probability);
}

}  // namespace satrap::metrics
