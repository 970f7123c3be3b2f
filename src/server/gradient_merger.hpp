#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace satrap::server {

/// Collects the gradients that several trainers have for one table in one step, and sums those of
/// the same id in trainer order, whatever order they arrived in. Not thread-safe.
class GradientMerger {
 public:
  explicit GradientMerger(std::int64_t dim) : dim_(dim) {}

  /// Adds a copy of `gradients` [ids.size(), dim]. The ids of one trainer are distinct within a
  /// step.
  void add(TrainerId trainer, std::span<const FeatureId> ids, const float* gradients);

  /// Sums what was added: ids() and gradients() hold each id once, in the order of the ids.
  void merge();
  std::span<const FeatureId> ids() const noexcept { return merged_ids_; }
  const float* gradients() const noexcept { return merged_.data(); }  ///< [ids, dim]

  /// Starts the next step.
  void clear() noexcept;

 private:
  struct Entry {
    FeatureId id;
    TrainerId trainer;
    std::uint32_t row;  ///< of gradients_
  };

  std::int64_t dim_;
  std::vector<Entry> entries_;
  std::vector<float> gradients_;
  std::vector<FeatureId> merged_ids_;
  std::vector<float> merged_;
};

}  // namespace satrap::server
