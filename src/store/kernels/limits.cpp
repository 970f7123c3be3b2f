#include <cmath>

#include "store/kernels/kernels.hpp"

// Highway compiles this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "store/kernels/limits.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "store/kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace satrap::store::HWY_NAMESPACE {
namespace {

/// L2 norm of unit * x [n].
float norm_of(float unit, std::size_t n, const float* x) {
  const Tag d;
  const auto value = [&](const float* v) { return hn::Mul(hn::Set(d, unit), hn::LoadU(d, v)); };
  return std::sqrt(sum_of_squares(n, value, x));
}

void clip(float norm, std::size_t dim, const float* gradient, float* out) {
  const Tag d;
  // Squares of up to 2^256 do not fit fp32; in units of 2^80 they do.
  float unit = 1.0f;
  float actual = norm_of(unit, dim, gradient);
  if (std::isinf(actual)) {
    unit = 0x1p-80f;
    actual = norm_of(unit, dim, gradient);
  }
  const bool clips = actual > norm * unit;
  const Vector scale = hn::Set(d, clips ? norm / actual : 1.0f);
  const Vector in_unit = hn::Set(d, clips ? unit : 1.0f);
  for_each_vector(
      dim,
      [&](const float* g, float* to) {
        hn::StoreU(hn::Mul(scale, hn::Mul(in_unit, hn::LoadU(d, g))), d, to);
      },
      gradient, out);
}

void clamp(float bound, std::size_t dim, float* weights) {
  const Tag d;
  // The weight is the second operand, which x86 returns where one of them is NaN: NaN stays NaN.
  const auto body = [&](const float* from, float* to) {
    const Vector above = hn::Max(hn::Set(d, -bound), hn::LoadU(d, from));
    hn::StoreU(hn::Min(hn::Set(d, bound), above), d, to);
  };
  for_each_vector(dim, body, weights, weights);
}

LimitKernels limits() {
  return {clip, clamp};
}

}  // namespace
}  // namespace satrap::store::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace satrap::store {

HWY_EXPORT(limits);

LimitKernels limit_kernels() {
  return HWY_DYNAMIC_DISPATCH(limits)();
}

}  // namespace satrap::store
#endif
