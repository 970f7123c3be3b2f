#include "nn/model.hpp"

#include <algorithm>
#include <numeric>

#include "core/error.hpp"
#include "nn/dlrm.hpp"
#include "nn/ffnn.hpp"

namespace satrap::nn {
namespace {

void require_positive(const std::vector<std::int64_t>& widths, const char* key) {
  for (const std::int64_t width : widths) {
    if (width < 1) {
      throw ConfigError(fmt::format("model.{}: a layer of width {}", key, width),
                        "a layer has at least one output", "write widths of 1 or more");
    }
  }
}

}  // namespace

std::int64_t ModelShape::pooled_width() const noexcept {
  return std::accumulate(slot_dims.begin(), slot_dims.end(), std::int64_t{0});
}

double DenseModel::matmul_flops_per_sample() const noexcept {
  return std::accumulate(linear_shapes_.begin(), linear_shapes_.end(), 0.0,
                         [](double sum, const LinearShape& shape) { return sum + shape.flops(); });
}

void DenseModel::allocate() {
  parameters_ = device::Buffer<float>(total_size(parameter_info_));
  gradients_ = device::Buffer<float>(total_size(parameter_info_));
  state_ = device::Buffer<float>(total_size(state_info_));
}

std::unique_ptr<DenseModel> make_model(const config::ModelConfig& config, const ModelShape& shape,
                                       std::uint64_t seed) {
  require_positive(config.bottom, "bottom");
  require_positive(config.top, "top");
  require_positive({config.sparse_width}, "sparse_width");
  require_positive({config.dense_width}, "dense_width");
  switch (config.kind) {
    case config::Model::dlrm:
      return std::make_unique<Dlrm>(config, shape, seed);
    case config::Model::ffnn:
      return std::make_unique<Ffnn>(config, shape, seed);
  }
  throw ConfigError("model.kind: unknown model");
}

}  // namespace satrap::nn
