#include "nn/parameters.hpp"

#include <functional>
#include <numeric>
#include <utility>

namespace satrap::nn {

std::int64_t add_array(std::vector<ParameterInfo>& layout, std::string name,
                       std::vector<std::int64_t> shape) {
  const std::int64_t offset = total_size(layout);
  const std::int64_t size =
      std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  layout.push_back({std::move(name), std::move(shape), offset, size});
  return offset;
}

std::int64_t total_size(const std::vector<ParameterInfo>& layout) noexcept {
  return layout.empty() ? 0 : layout.back().offset + layout.back().size;
}

}  // namespace satrap::nn
