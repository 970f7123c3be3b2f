#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"
#include "store/capacity/zipf.hpp"

namespace satrap::store {

/// Ids of training samples: ranks of a Zipf law over `ids` ranks, scattered over all 64-bit numbers
/// by a hash. What it draws is a function of the arguments.
class IdStream {
 public:
  IdStream(std::int64_t ids, double zipf_exponent, std::uint64_t seed);

  /// The distinct ids among `draws` draws and, beside them, those of the ranks below `end_rank`:
  /// `rare` of them, or as many as there are. Valid until the next call.
  std::span<const FeatureId> draw(std::int64_t draws, std::int64_t rare = 0,
                                  std::int64_t end_rank = 0);

 private:
  Zipf zipf_;
  RandomSequence random_;
  std::uint64_t salt_;
  std::vector<std::uint64_t> ranks_;
  std::vector<FeatureId> ids_;
};

}  // namespace satrap::store
