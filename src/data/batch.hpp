#pragma once

#include <cstdint>
#include <vector>

#include "core/types.hpp"

namespace satrap::data {

/// A place in the endless sequence of samples: sample `sample` (from 0) of the order of epoch
/// `epoch`. It belongs to the global order, so that any number of ranks can go on from it.
struct Position {
  std::int64_t epoch = 0;
  std::int64_t sample = 0;

  friend bool operator==(const Position&, const Position&) = default;
};

/// The ids of one slot of n samples: those of sample i are ids[offsets[i]] up to ids[offsets[i +
/// 1]].
struct SlotIds {
  std::vector<FeatureId> ids;
  std::vector<std::uint32_t> offsets;  ///< [n + 1], offsets[0] = 0
};

/// n parsed samples, in the global order.
struct SampleBatch {
  std::vector<float> labels;   ///< [n] 0 or 1
  std::vector<float> dense;    ///< [n, dense_features] after the transform
  std::vector<SlotIds> slots;  ///< [slots], in the order of Config::slots

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(labels.size()); }
};

/// The distinct ids of one table in a batch, grouped by the server that owns them. With a hash
/// stack they are the ids of its rows (hash_stack.hpp).
///
///     unique   | ids of server 0 | ids of server 1 | ... |
///     server_begin[0] = 0        [1]               [2]   [servers] = unique.size()
struct TableIds {
  std::vector<FeatureId> unique;
  std::vector<std::uint32_t> server_begin;  ///< [servers + 1]
};

/// Which unique row each id of a slot is: the ids of sample i are rows indices[offsets[i]] up to
/// indices[offsets[i + 1]] of the slot's table. With a hash stack an id is hash_rows of them, one
/// behind the other.
struct SlotRows {
  std::vector<std::uint32_t> indices;
  std::vector<std::uint32_t> offsets;  ///< [n + 1]
};

/// A batch ready to be looked up: every id crosses the network once.
struct IdBatch {
  std::vector<float> labels;     ///< [n]
  std::vector<float> dense;      ///< [n, dense_features]
  std::vector<TableIds> tables;  ///< [tables]
  std::vector<SlotRows> slots;   ///< [slots]

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(labels.size()); }
};

}  // namespace satrap::data
