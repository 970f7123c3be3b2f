#pragma once

#include <memory>
#include <vector>

#include "config/config.hpp"
#include "core/hash.hpp"
#include "data/batch.hpp"

namespace satrap::data {

/// Finds the distinct ids of each table of a batch and groups them by owner. Within a server the
/// ids stand in the order of their first occurrence (slot by slot, sample by sample). In a table
/// with a hash stack each id of a bag becomes its r rows there, and row ids take the place of ids.
/// Keeps its hash tables between batches, so that a warm one does not allocate. Not thread-safe.
class Deduplicator {
 public:
  Deduplicator(const config::Config& config, const RowPlacement& placement);
  ~Deduplicator();

  /// Takes labels and dense features over from `samples`. Throws ConfigError if a slot has more
  /// than 2^32 - 1 rows.
  void run(SampleBatch&& samples, IdBatch& out);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace satrap::data
