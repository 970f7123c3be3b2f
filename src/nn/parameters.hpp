#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace satrap::nn {

/// One named array of the model inside its flat buffer, e.g. "top/0/weight" [out, in].
struct ParameterInfo {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  ///< In floats, from the start of the buffer.
  std::int64_t size = 0;    ///< Product of the shape.
};

/// Appends an array to the layout of a flat buffer and returns its offset.
std::int64_t add_array(std::vector<ParameterInfo>& layout, std::string name,
                       std::vector<std::int64_t> shape);

/// Floats of the whole layout.
std::int64_t total_size(const std::vector<ParameterInfo>& layout) noexcept;

/// Told during backward that the gradients from `offset` on are final (and those behind it were
/// told before): the all-reduce of a bucket may start. Offsets fall; the last is 0.
using GradientsReady = std::function<void(std::int64_t offset)>;

}  // namespace satrap::nn
