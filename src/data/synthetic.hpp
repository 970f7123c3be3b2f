#pragma once

#include <cstdint>
#include <string>

#include "data/teacher.hpp"
#include "metrics/evaluation.hpp"

namespace satrap::data {

/// What make_synthetic_data writes and where. A path that ends in .gz is compressed.
struct SyntheticOptions {
  std::string train_path = "train.tsv";
  std::string valid_path = "valid.tsv";
  std::int64_t train_samples = 500'000;
  std::int64_t valid_samples = 100'000;
  TeacherOptions teacher;
};

/// Writes Criteo-format files whose labels a Teacher draws, and returns how the true logits do on
/// the validation file: on average no model can do better. The same files for the same options; a
/// longer file begins with the shorter one. Memory: 8 bytes per id of the vocabulary and per
/// validation sample. Throws ConfigError for bad options and DataError if a file cannot be written.
metrics::Evaluation make_synthetic_data(const SyntheticOptions& options);

}  // namespace satrap::data
