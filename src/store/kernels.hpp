#pragma once

#include "config/config.hpp"
#include "store/optimizer.hpp"

namespace satrap::store {

/// The update of one row for the best instruction set of this machine.
UpdateRow update_kernel(config::Optimizer optimizer, bool momentum);

}  // namespace satrap::store
