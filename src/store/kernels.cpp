#include "store/kernels.hpp"

#include <cmath>
#include <cstring>
#include <utility>

#include "core/random.hpp"

// Highway compiles this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "store/kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace satrap::store {
namespace HWY_NAMESPACE {
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

/// Sum of squares of x [n].
HWY_INLINE float sum_of_squares(std::size_t n, const float* x) {
  const Tag d;
  const std::size_t lanes = hn::Lanes(d);
  alignas(64) float sums[kLanes] = {};
  alignas(64) float rest[kLanes] = {};
  const std::size_t full = n / kLanes * kLanes;
  std::memcpy(rest, x + full, (n - full) * sizeof(float));
  for (std::size_t j = 0; j < kLanes; j += lanes) {
    Vector sum = hn::Zero(d);
    for (std::size_t i = j; i < full; i += kLanes) {
      const Vector v = hn::LoadU(d, x + i);
      sum = hn::MulAdd(v, v, sum);
    }
    const Vector v = hn::Load(d, rest + j);
    hn::Store(hn::MulAdd(v, v, sum), d, sums + j);
  }
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
  }
  return sums[0];
}

// The functions below are the table of RowOptimizer, one each.

void sgd(const Hyper& h, std::size_t dim, const float* gradient, float* weights, float*) {
  const Tag d;
  const Vector minus_lr = hn::Set(d, -h.lr);
  const Vector decay = hn::Set(d, h.weight_decay);
  for_each_vector(
      dim,
      [&](const float* g, float* w) {
        const Vector weight = hn::LoadU(d, w);
        const Vector step = hn::MulAdd(decay, weight, hn::LoadU(d, g));
        hn::StoreU(hn::MulAdd(minus_lr, step, weight), d, w);
      },
      gradient, weights);
}

void sgd_momentum(const Hyper& h, std::size_t dim, const float* gradient, float* weights,
                  float* velocity) {
  const Tag d;
  const Vector minus_lr = hn::Set(d, -h.lr);
  const Vector decay = hn::Set(d, h.weight_decay);
  const Vector momentum = hn::Set(d, h.momentum);
  for_each_vector(
      dim,
      [&](const float* g, float* w, float* v) {
        const Vector weight = hn::LoadU(d, w);
        const Vector total = hn::MulAdd(decay, weight, hn::LoadU(d, g));
        const Vector step = hn::MulAdd(momentum, hn::LoadU(d, v), total);
        hn::StoreU(step, d, v);
        hn::StoreU(hn::MulAdd(minus_lr, step, weight), d, w);
      },
      gradient, weights, velocity);
}

void adagrad(const Hyper& h, std::size_t dim, const float* gradient, float* weights,
             float* accumulator) {
  const Tag d;
  const Vector lr = hn::Set(d, h.lr);
  const Vector eps = hn::Set(d, h.eps);
  for_each_vector(
      dim,
      [&](const float* g, float* w, float* a) {
        const Vector grad = hn::LoadU(d, g);
        const Vector sum = hn::MulAdd(grad, grad, hn::LoadU(d, a));
        const Vector rate = hn::Div(lr, hn::Add(hn::Sqrt(sum), eps));
        hn::StoreU(sum, d, a);
        hn::StoreU(hn::NegMulAdd(rate, grad, hn::LoadU(d, w)), d, w);
      },
      gradient, weights, accumulator);
}

void rowwise_adagrad(const Hyper& h, std::size_t dim, const float* gradient, float* weights,
                     float* accumulator) {
  const Tag d;
  *accumulator += sum_of_squares(dim, gradient) / static_cast<float>(dim);
  const Vector rate = hn::Set(d, h.lr / (std::sqrt(*accumulator) + h.eps));
  for_each_vector(
      dim,
      [&](const float* g, float* w) {
        hn::StoreU(hn::NegMulAdd(rate, hn::LoadU(d, g), hn::LoadU(d, w)), d, w);
      },
      gradient, weights);
}

void adam(const Hyper& h, std::size_t dim, const float* gradient, float* weights, float* state) {
  const Tag d;
  const Vector lr = hn::Set(d, h.lr);
  const Vector eps = hn::Set(d, h.eps);
  const Vector decay = hn::Set(d, h.weight_decay);
  const Vector beta1 = hn::Set(d, h.beta1);
  const Vector beta2 = hn::Set(d, h.beta2);
  const Vector rest1 = hn::Set(d, 1.0f - h.beta1);
  const Vector rest2 = hn::Set(d, 1.0f - h.beta2);
  const Vector m_scale = hn::Set(d, h.m_scale);
  const Vector v_scale = hn::Set(d, h.v_scale);
  for_each_vector(
      dim,
      [&](const float* g, float* w, float* m, float* v) {
        const Vector grad = hn::LoadU(d, g);
        const Vector weight = hn::LoadU(d, w);
        const Vector first = hn::MulAdd(beta1, hn::LoadU(d, m), hn::Mul(rest1, grad));
        const Vector second =
            hn::MulAdd(beta2, hn::LoadU(d, v), hn::Mul(rest2, hn::Mul(grad, grad)));
        const Vector root = hn::Add(hn::Sqrt(hn::Mul(second, v_scale)), eps);
        const Vector step = hn::MulAdd(decay, weight, hn::Div(hn::Mul(first, m_scale), root));
        hn::StoreU(first, d, m);
        hn::StoreU(second, d, v);
        hn::StoreU(hn::NegMulAdd(lr, step, weight), d, w);
      },
      gradient, weights, state, state + dim);
}

// Philox4x32-10 with one counter block per lane (Salmon et al. 2011; the key and the counter are
// those of satrap::philox and satrap::initial_row).

using Words = hn::ScalableTag<std::uint32_t>;
using Word = hn::Vec<Words>;

/// 32 x 32 -> 64 bits, lane by lane.
HWY_INLINE void multiply(Word a, Word b, Word& high, Word& low) {
  const Words d;
  const hn::Repartition<std::uint64_t, Words> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
}

void philox_blocks(std::uint64_t key, Word (&c)[4]) {
  const Words d;
  const Word m0 = hn::Set(d, 0xD2511F53U);
  const Word m1 = hn::Set(d, 0xCD9E8D57U);
  auto k0 = static_cast<std::uint32_t>(key);
  auto k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    Word high0, low0, high1, low1;
    multiply(c[0], m0, high0, low0);
    multiply(c[2], m1, high1, low1);
    c[0] = hn::Xor(hn::Xor(high1, c[1]), hn::Set(d, k0));
    c[1] = low1;
    c[2] = hn::Xor(hn::Xor(high0, c[3]), hn::Set(d, k1));
    c[3] = low0;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
}

void initialize(std::uint64_t seed, TableId table, FeatureId id, float range, std::size_t dim,
                float* out) {
  const Words d;
  const hn::RebindToSigned<Words> integers;
  const hn::Rebind<float, Words> floats;
  const std::size_t lanes = hn::Lanes(d);
  const std::uint64_t key =
      seed ^ (0x9e3779b97f4a7c15ULL * static_cast<std::uint32_t>(RandomStream::row_init));
  const auto uniform = [&](Word word) {
    const auto unit = hn::Mul(hn::ConvertTo(floats, hn::BitCast(integers, hn::ShiftRight<8>(word))),
                              hn::Set(floats, 0x1p-24f));
    return hn::Mul(hn::Set(floats, range),
                   hn::Sub(hn::Mul(hn::Set(floats, 2.0f), unit), hn::Set(floats, 1.0f)));
  };
  for (std::size_t i = 0; i < dim; i += 4 * lanes) {
    Word c[4] = {hn::Set(d, static_cast<std::uint32_t>(raw(id))),
                 hn::Set(d, static_cast<std::uint32_t>(raw(id) >> 32)),
                 hn::Iota(d, static_cast<std::uint32_t>(i / 4)), hn::Set(d, raw(table))};
    philox_blocks(key, c);
    HWY_ALIGN float values[4 * hn::MaxLanes(d)];
    float* to = i + 4 * lanes <= dim ? out + i : values;
    hn::StoreInterleaved4(uniform(c[0]), uniform(c[1]), uniform(c[2]), uniform(c[3]), floats, to);
    if (to == values) std::memcpy(out + i, values, (dim - i) * sizeof(float));
  }
}

InitializeRow initialize_row() {
  return initialize;
}

UpdateRow update_row(config::Optimizer optimizer, bool momentum) {
  switch (optimizer) {
    case config::Optimizer::sgd:
      return momentum ? sgd_momentum : sgd;
    case config::Optimizer::adagrad:
      return adagrad;
    case config::Optimizer::rowwise_adagrad:
      return rowwise_adagrad;
    case config::Optimizer::adam:
      return adam;
  }
  return nullptr;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace satrap::store
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace satrap::store {

HWY_EXPORT(update_row);
HWY_EXPORT(initialize_row);

UpdateRow update_kernel(config::Optimizer optimizer, bool momentum) {
  return HWY_DYNAMIC_DISPATCH(update_row)(optimizer, momentum);
}

InitializeRow initialize_kernel() {
  return HWY_DYNAMIC_DISPATCH(initialize_row)();
}

}  // namespace satrap::store
#endif
