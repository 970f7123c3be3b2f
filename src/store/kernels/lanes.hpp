// Loops over the vectors of a row. Included by kernels once per instruction set, which is why the
// guard is toggled.

#if defined(SATRAP_STORE_KERNELS_LANES_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef SATRAP_STORE_KERNELS_LANES_HPP
#undef SATRAP_STORE_KERNELS_LANES_HPP
#else
#define SATRAP_STORE_KERNELS_LANES_HPP
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstring>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace satrap::store::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Sums go through this many lanes whatever the width of the vectors, so that they do not depend on
// it.
constexpr std::size_t kLanes = 16;
using Tag = hn::CappedTag<float, kLanes>;
using Vector = hn::Vec<Tag>;

/// Calls body(pointers...) for one vector after the other of arrays [n]. The rest, shorter than a
/// vector, goes through copies: nothing outside the arrays is read or written.
template <class Body, class... Floats>
HWY_INLINE void for_each_vector(std::size_t n, const Body& body, const float* in, Floats*... out) {
  const std::size_t lanes = hn::Lanes(Tag());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(in + i, (out + i)...);
  if (i == n) return;
  const std::size_t bytes = (n - i) * sizeof(float);
  alignas(64) float rest[1 + sizeof...(out)][kLanes] = {};
  std::memcpy(rest[0], in + i, bytes);
  const auto run = [&]<std::size_t... k>(std::index_sequence<k...>) {
    (std::memcpy(rest[k + 1], out + i, bytes), ...);
    body(rest[0], rest[k + 1]...);
    (std::memcpy(out + i, rest[k + 1], bytes), ...);
  };
  run(std::index_sequence_for<Floats...>());
}

/// Sum over i of value(pointers to element i...)^2, value being a function of vectors that gives 0
/// for zeros.
template <class Value, class... Floats>
HWY_INLINE float sum_of_squares(std::size_t n, const Value& value, const Floats*... in) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  alignas(64) float sums[kLanes] = {};
  const std::size_t full = n / kLanes * kLanes;
  alignas(64) float rest[sizeof...(in)][kLanes] = {};
  const auto run = [&]<std::size_t... k>(std::index_sequence<k...>) {
    (std::memcpy(rest[k], in + full, (n - full) * sizeof(float)), ...);
    for (std::size_t j = 0; j < kLanes; j += lanes) {
      Vector sum = hn::Zero(d);
      for (std::size_t i = j; i < full; i += kLanes) {
        const Vector v = value((in + i)...);
        sum = hn::MulAdd(v, v, sum);
      }
      const Vector v = value((rest[k] + j)...);
      hn::Store(hn::MulAdd(v, v, sum), d, sums + j);
    }
  };
  run(std::index_sequence_for<Floats...>());
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return sums[0];
}

}  // namespace
}  // namespace satrap::store::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
