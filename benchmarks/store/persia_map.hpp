#pragma once

#include <cstddef>
#include <list>
#include <span>
#include <unordered_map>
#include <vector>

#include "config/config.hpp"
#include "core/hash.hpp"
#include "core/types.hpp"

namespace satrap::bench {

/// A table in the way of PERSIA's parameter server: a hash map from id to a node of a list in the
/// order of last use, and a heap vector per row. Kinder than the original, which takes a lock and
/// probes its map twice per id: there is no lock, one probe, memory for the map's buckets is
/// there from the start, and updates do not change the order. As there, nothing is fetched ahead.
/// Row-wise Adagrad, fp32; new rows start as store::Table's do. Nothing is evicted.
class PersiaMap {
 public:
  /// For about `rows` rows; dim and hyper-parameters of `config`.
  PersiaMap(const config::TableConfig& config, std::size_t rows, std::uint64_t seed);

  /// Weights [n, dim] of ids, which get rows if they have none and become the most recent.
  void lookup(std::span<const FeatureId> ids, float* out);
  /// One step per id with its gradient [dim]; ids without a row are left out.
  void apply(std::span<const FeatureId> ids, const float* gradients);

 private:
  struct Row {
    FeatureId id;
    std::vector<float> values;  ///< [dim + 1]: weights, accumulator
  };
  struct Hash {
    std::size_t operator()(FeatureId id) const noexcept { return mix(raw(id)); }
  };
  using Rows = std::list<Row>;  ///< The most recently used first.

  Rows::iterator insert(FeatureId id);

  std::size_t dim_;
  float lr_;
  float eps_;
  float init_range_;
  std::uint64_t seed_;
  Rows rows_;
  std::unordered_map<FeatureId, Rows::iterator, Hash> row_of_;
};

}  // namespace satrap::bench
