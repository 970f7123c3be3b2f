#pragma once

#include <cstddef>
#include <cstdint>

#include "config/config.hpp"
#include "core/types.hpp"
#include "store/optimizer.hpp"

namespace satrap::store {

/// Kernels are compiled once per instruction set; these return the one for this machine.

/// The update of one row.
UpdateRow update_kernel(config::Optimizer optimizer, bool momentum);

/// Initial weights: the values of satrap::initial_row for (seed, table, id), many at a time.
using InitializeRow = void (*)(std::uint64_t seed, TableId table, FeatureId id, float range,
                               std::size_t dim, float* out);
InitializeRow initialize_kernel();

}  // namespace satrap::store
