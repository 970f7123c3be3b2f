#pragma once

#include <cstdint>
#include <vector>

#include "core/random.hpp"
#include "store/table.hpp"

namespace satrap::bench {

/// What one lookup or update of a server holds.
inline constexpr std::size_t kBatch = 4096;

config::TableConfig table_config(std::int64_t dim, config::Storage storage = config::Storage::fp32,
                                 config::Optimizer optimizer = config::Optimizer::rowwise_adagrad);

/// Rows of a table of `bytes` bytes, at least a batch.
std::int64_t rows_of(const config::TableConfig& config, std::int64_t bytes);

/// Looks up the ids 0 ... rows - 1.
void fill(store::Table& table, std::int64_t rows);

/// Batches of distinct rows of `rows` at random, and what goes with them.
class Batches {
 public:
  Batches(std::int64_t rows, std::int64_t dim);

  /// Other rows: first ids, and then as many places, of other rows than those of the ids.
  void draw();
  /// Ids that no one has seen.
  void draw_new_ids();

  std::vector<FeatureId> ids;         ///< [kBatch]
  std::vector<std::uint32_t> places;  ///< [kBatch]
  std::vector<float> values;          ///< [kBatch, dim]: results of lookups
  std::vector<float> gradients;       ///< [kBatch, dim]

 private:
  RandomSequence random_{7, RandomStream::teacher};
  std::uint64_t part_;  ///< Of the rows: each batch has one row of each of kBatch parts.
  std::uint64_t next_new_ = 0;
};

}  // namespace satrap::bench
