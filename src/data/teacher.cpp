#include "data/teacher.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/random.hpp"

namespace satrap::data {

namespace {

// Substreams of RandomStream::teacher: samples of a split, weights of an id, weights of integers.
constexpr unsigned kKindShift = 61;
constexpr std::uint64_t kIdWeights = 3;
constexpr std::uint64_t kDenseWeights = 4;

RandomSequence sequence(std::uint64_t seed, std::uint64_t kind, std::uint64_t index) {
  return RandomSequence(seed, RandomStream::teacher, kind << kKindShift | index);
}

/// Uniform with mean 0 and variance 1.
double weight(RandomSequence& random) {
  return std::sqrt(12.0) * (random.uniform() - 0.5);
}

double sigmoid(double x) {
  return 1.0 / (1.0 + std::exp(-x));
}

/// A bijection of 32 bits (the MurmurHash3 finaliser), so that ids of a slot are all over the range
/// as hashed ones are, and distinct.
std::uint32_t scramble(std::uint32_t x) {
  x = (x ^ (x >> 16)) * 0x85ebca6bU;
  x = (x ^ (x >> 13)) * 0xc2b2ae35U;
  return x ^ (x >> 16);
}

/// Integers are rounded down log-normal numbers whose log has this mean and variance 1.
double log_mean(std::size_t integer) {
  return 0.25 * static_cast<double>(integer);
}

void check(const TeacherOptions& o) {
  const auto refuse = [](const char* problem) { throw ConfigError(problem); };
  if (o.vocabulary < 1 || o.vocabulary > std::int64_t{1} << 32) {
    refuse("the vocabulary must be in 1 ... 2^32");
  }
  if (!(o.zipf_exponent >= 0 && o.zipf_exponent <= 10))
    refuse("the Zipf exponent must be in 0 ... 10");
  if (o.informative_slots < 0 || o.informative_slots > 26) {
    refuse("the number of informative slots must be in 0 ... 26");
  }
  if (o.rank < 0 || o.rank > 1024) refuse("the rank must be in 0 ... 1024");
  if (o.frequent_ids < 1) refuse("the number of frequent ids must be at least 1");
  if (!(o.base_rate > 0 && o.base_rate < 1)) refuse("the base rate must be between 0 and 1");
  if (!std::isfinite(o.bias_scale + o.interaction_scale + o.dense_scale)) {
    refuse("the scales must be finite");
  }
}

}  // namespace

Teacher::Teacher(const TeacherOptions& options) : options_(options) {
  check(options);
  double sum = 0;
  cumulative_.reserve(static_cast<std::size_t>(options.vocabulary));
  for (std::int64_t r = 1; r <= options.vocabulary; ++r) {
    sum += std::pow(static_cast<double>(r), -options.zipf_exponent);
    cumulative_.push_back(sum);
  }
  RandomSequence random = sequence(options.seed, kDenseWeights, 0);
  for (double& w : dense_weights_) w = weight(random) / std::sqrt(dense_weights_.size());
  intercept_ = find_intercept();
}

TeacherSample Teacher::draw(Split split, std::int64_t index) const {
  RandomSequence random =
      sequence(options_.seed, static_cast<std::uint64_t>(split), static_cast<std::uint64_t>(index));
  TeacherSample out;
  double dense = 0;
  for (std::size_t j = 0; j < out.integers.size(); ++j) {
    out.integers[j] = static_cast<std::int64_t>(std::exp(log_mean(j) + random.normal()));
    dense += dense_weights_[j] * (std::log1p(out.integers[j]) - log_mean(j));
  }
  std::array<std::uint64_t, 26> ranks{};
  for (std::size_t s = 0; s < ranks.size(); ++s) {
    const double u = random.uniform() * cumulative_.back();
    ranks[s] = static_cast<std::uint64_t>(
        std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, u) - cumulative_.begin());
    const auto slot_offset = static_cast<std::uint32_t>(s) * 0x9e3779b9U;
    out.categories[s] = scramble(static_cast<std::uint32_t>(ranks[s]) + slot_offset);
  }
  out.logit = intercept_ + options_.dense_scale * dense + categories_logit(ranks);
  out.label = random.uniform() < sigmoid(out.logit);
  return out;
}

double Teacher::categories_logit(const std::array<std::uint64_t, 26>& ranks) const {
  const auto slots = static_cast<std::size_t>(options_.informative_slots);
  const auto width = static_cast<std::size_t>(options_.rank);
  double bias = 0;
  std::vector<double> sum(width);
  double squares = 0;
  for (std::size_t s = 0; s < slots; ++s) {
    RandomSequence random = sequence(options_.seed, kIdWeights, s << 32 | ranks[s]);
    const double depth = static_cast<double>(ranks[s]) / static_cast<double>(options_.frequent_ids);
    const double strength = 1.0 / (1.0 + depth * depth);
    bias += strength * weight(random);
    for (double& total : sum) {
      const double u = strength * weight(random);
      total += u;
      squares += u * u;
    }
  }
  // Σ over pairs ⟨u, v⟩ = (|Σ u|² - Σ |u|²) / 2, as in factorization machines (Rendle 2010).
  double pairs = -squares;
  for (const double total : sum) pairs += total * total;
  const double terms = 0.5 * static_cast<double>(slots) * (static_cast<double>(slots) - 1.0);
  const auto per = [](double scale, double n) { return n > 0 ? scale / std::sqrt(n) : 0.0; };
  return per(options_.bias_scale, static_cast<double>(slots)) * bias +
         per(options_.interaction_scale, terms * static_cast<double>(width)) * 0.5 * pairs;
}

/// The intercept that gives the base rate, by bisection over a fixed set of samples.
double Teacher::find_intercept() const {
  constexpr std::int64_t kSamples = 1 << 14;
  std::vector<double> logits;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    logits.push_back(draw(Split::calibration, i).logit);
  }
  double low = -50;
  double high = 50;
  while (high - low > 1e-9) {
    const double middle = 0.5 * (low + high);
    double rate = 0;
    for (const double logit : logits) rate += sigmoid(logit + middle) / kSamples;
    (rate < options_.base_rate ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace satrap::data
