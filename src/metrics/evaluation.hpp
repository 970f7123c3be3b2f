#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace satrap::metrics {

/// One scored sample. The logit, not the probability: nothing is lost to rounding near 0 and 1.
struct Scored {
  float logit;
  float label;  ///< 0 or 1
};
static_assert(sizeof(Scored) == 8, "gathered over MPI as bytes");

/// Quality of predictions; formulas in docs/metrics.md.
struct Evaluation {
  std::int64_t samples = 0;
  double base_rate = 0;  ///< Σ y / n
  /// Exact, a tie counts one half (as scikit-learn); nothing if only one class occurs.
  std::optional<double> auc;
  double log_loss = 0;  ///< nats; probabilities clamped to [1e-7, 1 - 1e-7]
  /// log loss / entropy of the base rate (He et al. 2014); nothing if only one class occurs.
  std::optional<double> normalized_entropy;
  /// Σ p / Σ y; nothing if there is no positive sample.
  std::optional<double> calibration;
};

/// Sorts `scored` and evaluates it. A function of the multiset of samples alone: neither their
/// order nor how they were spread over ranks changes a bit of the result. Infinite logits are
/// legal. Throws NumericalError for a NaN among them: it has no rank.
Evaluation evaluate(std::vector<Scored>& scored);

/// The same from probabilities in [0, 1], for predictions that others made. [n] and [n].
Evaluation evaluate_probabilities(std::span<const float> probabilities,
                                  std::span<const float> labels);

}  // namespace satrap::metrics
