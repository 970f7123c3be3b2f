#pragma once

#include "checkpoint/checkpoint.hpp"
#include "nn/model.hpp"
#include "nn/optimizer.hpp"

namespace satrap::trainer {

/// Names every array of model and optimizer for a checkpoint: parameters as model/<name>, state as
/// state/<name>, and each of the optimizer's arrays, cut up like the parameters, as
/// optimizer/<array>/<name>. The arrays are views: loading into them loads the model.
std::vector<checkpoint::NamedArray> named_arrays(nn::DenseModel& model,
                                                 nn::DenseOptimizer& optimizer);

}  // namespace satrap::trainer
