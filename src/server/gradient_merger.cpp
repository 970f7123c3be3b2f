#include "server/gradient_merger.hpp"

#include <algorithm>
#include <tuple>

namespace satrap::server {

void GradientMerger::add(TrainerId trainer, std::span<const FeatureId> ids,
                         const float* gradients) {
  for (const FeatureId id : ids) {
    entries_.push_back({id, trainer, static_cast<std::uint32_t>(entries_.size())});
  }
  gradients_.insert(gradients_.end(), gradients,
                    gradients + static_cast<std::int64_t>(ids.size()) * dim_);
}

void GradientMerger::merge() {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tuple(raw(a.id), raw(a.trainer)) < std::tuple(raw(b.id), raw(b.trainer));
  });
  for (const Entry& entry : entries_) {
    const float* row = gradients_.data() + static_cast<std::int64_t>(entry.row) * dim_;
    if (merged_ids_.empty() || merged_ids_.back() != entry.id) {
      merged_ids_.push_back(entry.id);
      merged_.insert(merged_.end(), row, row + dim_);
    } else {
      float* sum = merged_.data() + merged_.size() - static_cast<std::size_t>(dim_);
      for (std::int64_t i = 0; i < dim_; ++i) sum[i] += row[i];
    }
  }
}

void GradientMerger::clear() noexcept {
  entries_.clear();
  gradients_.clear();
  merged_ids_.clear();
  merged_.clear();
}

}  // namespace satrap::server
