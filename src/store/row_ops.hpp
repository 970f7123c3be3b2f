#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "config/config.hpp"
#include "core/types.hpp"
#include "store/kernels/kernels.hpp"
#include "store/optimizer.hpp"
#include "store/row_layout.hpp"
#include "store/update_context.hpp"

namespace satrap::store {

/// What is done to the contents of one row: first values, reading, an optimizer step. Knows the
/// layout, storage type and optimizer of a table, not which rows there are. `row` is the start of a
/// row of layout(); ids are neither read nor written there. Everything is a function of the
/// arguments, seed and table: of neither the batch nor the place of a row. Threads may share it.
///
/// `initialize` and `update` need a scratch row per thread for all but fp32 rows without clip_norm
/// and weight_bound. The thread that constructs gets it then; others at their first call, which
/// throws std::bad_alloc, and leaves the row as it was, if there is no memory.
class RowOps {
 public:
  /// Throws ConfigError for a hyper-parameter or combination that does nothing or cannot be.
  RowOps(TableId table, const config::TableConfig& config, std::uint64_t seed);

  const RowLayout& layout() const noexcept { return layout_; }
  /// Values of optimizer state per row, in fp32 or bf16 as the layout says.
  std::int64_t state_values() const noexcept { return optimizer_.state_values(); }

  /// Weights from (seed, table, id), rounded to the storage type as in step 0; fresh state; no
  /// updates yet.
  void initialize(FeatureId id, std::byte* row) const;

  /// The weights in fp32 to `out` [dim].
  void read(const std::byte* row, float* out) const noexcept {
    if (weights_.decode != nullptr) {
      weights_.decode(row + layout_.weights, dim_, out);
      return;
    }
    // The C library's copy has the widest vectors that this machine has.
    std::memcpy(out, row + layout_.weights, layout_.weight_bytes);
  }

  /// What all updates of one batch share.
  Hyper hyper(const UpdateContext& context) const noexcept;
  /// One optimizer step with `gradient` [dim]: clip, update, bound, round. Stochastic rounding
  /// follows from (seed, table, id, step).
  void update(const Hyper& hyper, FeatureId id, const float* gradient, std::byte* row) const {
    if (in_place_ && !layout_.has_updates) {
      update_(hyper, dim_, gradient, reinterpret_cast<float*>(row + layout_.weights),
              reinterpret_cast<float*>(row + layout_.state));
    } else {
      update_with_options(hyper, id, gradient, row);
    }
  }

 private:
  void update_with_options(Hyper hyper, FeatureId id, const float* gradient, std::byte* row) const;
  std::uint64_t rounding_key(Step step) const noexcept;
  std::size_t scratch_size() const noexcept;

  TableId table_;
  std::uint64_t seed_;
  std::size_t dim_;
  RowOptimizer optimizer_;
  RowLayout layout_;
  float init_range_;
  float clip_norm_;
  float weight_bound_;
  std::uint64_t initial_key_;  ///< Of the rounding of first values.
  InitializeRow initialize_;
  UpdateRow update_;
  LimitKernels limits_;
  StorageKernels weights_;  ///< Null for fp32.
  StorageKernels moments_;  ///< Null for fp32.
  bool stochastic_;
  bool in_place_;  ///< The optimizer's kernel works on the row and is all there is to do.
};

}  // namespace satrap::store
