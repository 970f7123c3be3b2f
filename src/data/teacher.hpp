#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace satrap::data {

/// The model behind synthetic data. Every slot draws its ids from a Zipf law over `vocabulary`
/// ranks; the first `informative_slots` of them, and the integers, move the logit:
///
///     logit = intercept + bias_scale · Σ b(s, r) + interaction_scale · Σ ⟨u(s, r), u(t, q)⟩
///             + dense_scale · Σ w(j) · (log(1 + x(j)) - mean(j))
///
/// over slots s (ranks r), pairs of slots s < t (ranks r, q) and integers j; b, u [rank] and w are
/// fixed random numbers. Each sum is scaled to the size of one of its terms, and b and u fall with
/// the square of the id's rank, so that the signal is in ids that occur often enough to be learned:
/// with the defaults a DLRM gets within about 0.004 AUC of the teacher in one epoch of 300,000
/// samples (docs/data.md).
struct TeacherOptions {
  std::uint64_t seed = 1;
  std::int64_t vocabulary = 10'000;  ///< Ids per slot, at most 2^32.
  double zipf_exponent = 1.1;        ///< P(rank r) ~ r^-exponent; 0 is uniform.
  std::int64_t informative_slots = 4;
  std::int64_t rank = 2;           ///< Length of u.
  std::int64_t frequent_ids = 10;  ///< The id of this rank has half the signal of the first.
  double base_rate = 0.25;         ///< Mean probability of label 1.
  double bias_scale = 2.0;
  double interaction_scale = 0.4;
  double dense_scale = 1.2;
};

/// One drawn sample.
struct TeacherSample {
  bool label = false;
  double logit = 0;  ///< Of the true probability of label 1.
  std::array<std::int64_t, 13> integers{};
  std::array<std::uint32_t, 26> categories{};
};

/// Draws samples; a sample is a function of (options, split, index) alone. Holds one number per id
/// of the vocabulary.
class Teacher {
 public:
  enum class Split : std::uint64_t { train = 0, valid = 1, calibration = 2 };

  /// Throws ConfigError for options that make no sense.
  explicit Teacher(const TeacherOptions& options);

  TeacherSample draw(Split split, std::int64_t index) const;

 private:
  double categories_logit(const std::array<std::uint64_t, 26>& ranks) const;
  double find_intercept() const;

  TeacherOptions options_;
  std::vector<double> cumulative_;  ///< [vocabulary] of the Zipf law, not normalised.
  std::array<double, 13> dense_weights_{};
  double intercept_ = 0;
};

}  // namespace satrap::data
