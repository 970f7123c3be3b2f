#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "device/memory.hpp"
#include "device/stream.hpp"
#include "nn/linear.hpp"
#include "nn/parameters.hpp"

namespace satrap::nn {

/// Linear layers one behind the other, named NAME/0, NAME/1, ... The model's flat buffers are
/// passed in. Keeps the activations of the last forward.
class Mlp {
 public:
  /// `widths` are the outputs of the layers, at least one; `hidden` is what stands behind all but
  /// the last layer, `last` behind that.
  Mlp(std::vector<ParameterInfo>& layout, const std::string& name, std::int64_t in,
      const std::vector<std::int64_t>& widths, Linear::Output hidden, Linear::Output last,
      bool input_gradient);

  void initialize(std::uint64_t seed, float* parameters) const;

  /// [batch, last width], valid until the next forward. x must live until backward has returned.
  const float* forward(const float* parameters, std::int64_t batch, const float* x);

  /// Sets its gradients from dy [batch, last width], which it overwrites, and tells `ready` the
  /// offset of each layer when it is done, if `ready` is not empty. Returns dL/dx [batch, in],
  /// valid until the next backward, or null without input_gradient.
  float* backward(const device::Stream& stream, const float* parameters, float* dy,
                  float* gradients, const GradientsReady& ready);

  const std::vector<Linear>& layers() const noexcept { return layers_; }

 private:
  std::vector<Linear> layers_;
  std::int64_t batch_ = 0;
  const float* input_ = nullptr;
  std::vector<device::Buffer<float>> outputs_;      ///< of each layer
  std::array<device::Buffer<float>, 2> gradients_;  ///< dL/dx of the layers, in turn
};

}  // namespace satrap::nn
