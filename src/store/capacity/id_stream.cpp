#include "store/capacity/id_stream.hpp"

#include <algorithm>

#include "core/hash.hpp"

namespace satrap::store {

IdStream::IdStream(std::int64_t ids, double zipf_exponent, std::uint64_t seed)
    : zipf_(ids, zipf_exponent), random_(seed, RandomStream::teacher), salt_(mix(seed)) {}

std::span<const FeatureId> IdStream::draw(std::int64_t draws, std::int64_t rare,
                                          std::int64_t end_rank) {
  ranks_.clear();
  for (std::int64_t i = 0; i < draws; ++i) ranks_.push_back(zipf_(random_));
  for (std::int64_t i = 1; i <= rare && i < end_rank; ++i) {
    ranks_.push_back(static_cast<std::uint64_t>(end_rank - i));
  }
  std::sort(ranks_.begin(), ranks_.end());
  ranks_.erase(std::unique(ranks_.begin(), ranks_.end()), ranks_.end());
  ids_.clear();
  for (const std::uint64_t rank : ranks_) ids_.push_back(FeatureId{mix(rank ^ salt_)});
  return ids_;
}

}  // namespace satrap::store
