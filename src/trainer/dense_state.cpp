#include "trainer/dense_state.hpp"

namespace satrap::trainer {

namespace {

void append(std::vector<checkpoint::NamedArray>& arrays, const std::string& prefix,
            const std::vector<nn::ParameterInfo>& infos, std::span<float> values) {
  for (const auto& info : infos) {
    arrays.push_back({prefix + info.name, info.shape,
                      values.subspan(static_cast<std::size_t>(info.offset),
                                     static_cast<std::size_t>(info.size))});
  }
}

}  // namespace

std::vector<checkpoint::NamedArray> named_arrays(nn::DenseModel& model,
                                                 nn::DenseOptimizer& optimizer) {
  std::vector<checkpoint::NamedArray> arrays;
  append(arrays, "model/", model.parameter_info(), model.parameters());
  append(arrays, "state/", model.state_info(), model.state());
  for (auto& array : optimizer.state()) {
    append(arrays, "optimizer/" + array.name + "/", model.parameter_info(), array.values);
  }
  return arrays;
}

}  // namespace satrap::trainer
