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

/// The upper half of the lanes added to the lower, until one is left.
template <class V>
HWY_INLINE float fold(V v) {
  const hn::DFromV<V> d;
  if constexpr (hn::MaxLanes(d) == 1) {
    return hn::GetLane(v);
  } else {
    const hn::Half<decltype(d)> half;
    return fold(hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

/// Sum over i of value(pointers to element i...)^2, value being a function of vectors that gives 0
/// for zeros.
template <class Value, class... Floats>
HWY_INLINE float sum_of_squares(std::size_t n, const Value& value, const Floats*... in) {
  constexpr std::size_t lanes = hn::MaxLanes(Tag());
  constexpr std::size_t kVectors = kLanes / lanes;
  Vector sums[kVectors];
  for (Vector& sum : sums) sum = hn::Zero(Tag());
  const auto add = [&](const Floats*... at) {
    for (std::size_t k = 0; k < kVectors; ++k) {
      const Vector v = value((at + k * lanes)...);
      sums[k] = hn::MulAdd(v, v, sums[k]);
    }
  };
  const std::size_t full = n / kLanes * kLanes;
  for (std::size_t i = 0; i < full; i += kLanes) add((in + i)...);
  if (full < n) {
    alignas(64) float rest[sizeof...(in)][kLanes] = {};
    const auto run = [&]<std::size_t... k>(std::index_sequence<k...>) {
      (std::memcpy(rest[k], in + full, (n - full) * sizeof(float)), ...);
      add(rest[k]...);
    };
    run(std::index_sequence_for<Floats...>());
  }
  for (std::size_t half = kVectors / 2; half > 0; half /= 2) {
    for (std::size_t k = 0; k < half; ++k) sums[k] = hn::Add(sums[k], sums[k + half]);
  }
  return fold(sums[0]);
}

}  // namespace
}  // namespace satrap::store::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
