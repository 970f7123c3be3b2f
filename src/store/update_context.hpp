#pragma once

#include "core/types.hpp"

namespace satrap::store {

/// What the step and the learning-rate schedule contribute to an update.
struct UpdateContext {
  Step step = 0;
  float lr_factor = 1.0f;  ///< Multiplies the table's lr.
};

}  // namespace satrap::store
