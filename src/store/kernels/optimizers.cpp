#include <cmath>

#include "store/kernels/kernels.hpp"

// Highway compiles this file once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "store/kernels/optimizers.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "store/kernels/lanes.hpp"

HWY_BEFORE_NAMESPACE();
namespace satrap::store::HWY_NAMESPACE {
namespace {

/// Gradients count as at most 2^54: up to there neither their squares nor a row's sum of them
/// overflow. NaN stays NaN (x86 returns the second operand).
HWY_INLINE Vector load_gradient(const float* g) {
  const Tag d;
  return hn::Min(hn::Set(d, 0x1p54f), hn::Max(hn::Set(d, -0x1p54f), hn::LoadU(d, g)));
}

HWY_INLINE float mean_square(std::size_t dim, const float* gradient) {
  return sum_of_squares(dim, load_gradient, gradient) / static_cast<float>(dim);
}

/// The arithmetic that the optimizers with moments share.
struct Moments {
  explicit HWY_INLINE Moments(const Hyper& h)
      : beta1(hn::Set(Tag(), h.beta1)),
        beta2(hn::Set(Tag(), h.beta2)),
        rest1(hn::Set(Tag(), 1.0f - h.beta1)),
        rest2(hn::Set(Tag(), 1.0f - h.beta2)),
        m_scale(hn::Set(Tag(), h.m_scale)),
        v_scale(hn::Set(Tag(), h.v_scale)),
        eps(hn::Set(Tag(), h.eps)),
        decay(hn::Set(Tag(), h.weight_decay)) {}

  HWY_INLINE Vector first(Vector m, Vector g) const {
    return hn::MulAdd(beta1, m, hn::Mul(rest1, g));
  }
  HWY_INLINE Vector second(Vector v, Vector g) const {
    return hn::MulAdd(beta2, v, hn::Mul(rest2, hn::Mul(g, g)));
  }
  HWY_INLINE Vector root(Vector v) const { return hn::Add(hn::Sqrt(hn::Mul(v, v_scale)), eps); }
  /// What is taken off the weights, but for the learning rate.
  HWY_INLINE Vector step(Vector w, Vector m, Vector v) const {
    return hn::MulAdd(decay, w, hn::Div(hn::Mul(m, m_scale), root(v)));
  }

  Vector beta1, beta2, rest1, rest2, m_scale, v_scale, eps, decay;
};

// The functions below are the table of RowOptimizer, one each.

void sgd(const Hyper& h, std::size_t dim, const float* gradient, float* weights, float*) {
  const Tag d;
  const Vector minus_lr = hn::Set(d, -h.lr);
  const Vector decay = hn::Set(d, h.weight_decay);
  const auto body = [&](const float* g, float* w) {
    const Vector weight = hn::LoadU(d, w);
    const Vector step = hn::MulAdd(decay, weight, load_gradient(g));
    hn::StoreU(hn::MulAdd(minus_lr, step, weight), d, w);
  };
  for_each_vector(dim, body, gradient, weights);
}

void sgd_momentum(const Hyper& h, std::size_t dim, const float* gradient, float* weights,
                  float* velocity) {
  const Tag d;
  const Vector minus_lr = hn::Set(d, -h.lr);
  const Vector decay = hn::Set(d, h.weight_decay);
  const Vector momentum = hn::Set(d, h.momentum);
  const auto body = [&](const float* g, float* w, float* v) {
    const Vector weight = hn::LoadU(d, w);
    const Vector total = hn::MulAdd(decay, weight, load_gradient(g));
    const Vector step = hn::MulAdd(momentum, hn::LoadU(d, v), total);
    hn::StoreU(step, d, v);
    hn::StoreU(hn::MulAdd(minus_lr, step, weight), d, w);
  };
  for_each_vector(dim, body, gradient, weights, velocity);
}

void adagrad(const Hyper& h, std::size_t dim, const float* gradient, float* weights,
             float* accumulator) {
  const Tag d;
  const Vector lr = hn::Set(d, h.lr);
  const Vector eps = hn::Set(d, h.eps);
  const Vector decay = hn::Set(d, h.lr * h.weight_decay);
  const auto body = [&](const float* g, float* w, float* a) {
    const Vector grad = load_gradient(g);
    const Vector sum = hn::MulAdd(grad, grad, hn::LoadU(d, a));
    const Vector rate = hn::Div(lr, hn::Add(hn::Sqrt(sum), eps));
    const Vector weight = hn::LoadU(d, w);
    hn::StoreU(sum, d, a);
    hn::StoreU(hn::NegMulAdd(rate, grad, hn::NegMulAdd(decay, weight, weight)), d, w);
  };
  for_each_vector(dim, body, gradient, weights, accumulator);
}

/// With `load` for the gradient and `sum`, that of its squares.
template <class Load>
HWY_INLINE void rowwise_adagrad(const Hyper& h, std::size_t dim, const float* gradient,
                                float* weights, float* accumulator, const Load& load, float sum) {
  const Tag d;
  *accumulator += sum / static_cast<float>(dim);
  const Vector rate = hn::Set(d, h.lr / (std::sqrt(*accumulator) + h.eps));
  const Vector decay = hn::Set(d, h.lr * h.weight_decay);
  const auto body = [&](const float* g, float* w) {
    const Vector weight = hn::LoadU(d, w);
    const Vector decayed = hn::NegMulAdd(decay, weight, weight);
    hn::StoreU(hn::NegMulAdd(rate, load(g), decayed), d, w);
  };
  for_each_vector(dim, body, gradient, weights);
}

void rowwise_adagrad(const Hyper& h, std::size_t dim, const float* gradient, float* weights,
                     float* accumulator) {
  const auto load = [](const float* g) { return hn::LoadU(Tag(), g); };
  const float sum = sum_of_squares(dim, load, gradient);
  if (sum < 0x1p108f) {  // No element is too large: the usual case, for less work.
    rowwise_adagrad(h, dim, gradient, weights, accumulator, load, sum);
  } else {
    rowwise_adagrad(h, dim, gradient, weights, accumulator, load_gradient,
                    sum_of_squares(dim, load_gradient, gradient));
  }
}

void adam(const Hyper& h, std::size_t dim, const float* gradient, float* weights, float* state) {
  const Tag d;
  const Vector lr = hn::Set(d, h.lr);
  const Moments moments(h);
  const auto body = [&](const float* g, float* w, float* m, float* v) {
    const Vector grad = load_gradient(g);
    const Vector weight = hn::LoadU(d, w);
    const Vector first = moments.first(hn::LoadU(d, m), grad);
    const Vector second = moments.second(hn::LoadU(d, v), grad);
    hn::StoreU(first, d, m);
    hn::StoreU(second, d, v);
    hn::StoreU(hn::NegMulAdd(lr, moments.step(weight, first, second), weight), d, w);
  };
  for_each_vector(dim, body, gradient, weights, state, state + dim);
}

void rowwise_adam(const Hyper& h, std::size_t dim, const float* gradient, float* weights,
                  float* state) {
  const Tag d;
  const Vector lr = hn::Set(d, h.lr);
  const Moments moments(h);
  float& v = state[dim];
  v = std::fma(h.beta2, v, (1.0f - h.beta2) * mean_square(dim, gradient));
  const Vector second = hn::Set(d, v);
  const auto body = [&](const float* g, float* w, float* m) {
    const Vector weight = hn::LoadU(d, w);
    const Vector first = moments.first(hn::LoadU(d, m), load_gradient(g));
    hn::StoreU(first, d, m);
    hn::StoreU(hn::NegMulAdd(lr, moments.step(weight, first, second), weight), d, w);
  };
  for_each_vector(dim, body, gradient, weights, state);
}

void ftrl(const Hyper& h, std::size_t dim, const float* gradient, float* weights, float* state) {
  const Tag d;
  const Vector per_lr = hn::Set(d, 1.0f / h.base_lr);
  const Vector factor = hn::Set(d, h.lr / h.base_lr);
  const Vector beta = hn::Set(d, h.beta);
  const Vector l1 = hn::Set(d, h.l1);
  const Vector l2 = hn::Set(d, h.l2);
  const auto body = [&](const float* g, float* w, float* z, float* n) {
    const Vector grad = load_gradient(g);
    const Vector before = hn::LoadU(d, n);
    const Vector after = hn::MulAdd(grad, grad, before);
    const Vector root = hn::Sqrt(after);
    const Vector sigma = hn::Mul(hn::Sub(root, hn::Sqrt(before)), per_lr);
    const Vector sum =
        hn::NegMulAdd(sigma, hn::LoadU(d, w), hn::MulAdd(factor, grad, hn::LoadU(d, z)));
    const Vector stiffness = hn::MulAdd(hn::Add(beta, root), per_lr, l2);
    const Vector weight = hn::Div(hn::Sub(hn::CopySign(l1, sum), sum), stiffness);
    hn::StoreU(sum, d, z);
    hn::StoreU(after, d, n);
    hn::StoreU(hn::IfThenZeroElse(hn::Le(hn::Abs(sum), l1), weight), d, w);
  };
  for_each_vector(dim, body, gradient, weights, state, state + dim);
}

void lamb(const Hyper& h, std::size_t dim, const float* gradient, float* weights, float* state) {
  const Tag d;
  const Moments moments(h);
  const auto update_moments = [&](const float* g, float* m, float* v) {
    const Vector grad = load_gradient(g);
    hn::StoreU(moments.first(hn::LoadU(d, m), grad), d, m);
    hn::StoreU(moments.second(hn::LoadU(d, v), grad), d, v);
  };
  const auto step = [&](const float* w, const float* m, const float* v) {
    return moments.step(hn::LoadU(d, w), hn::LoadU(d, m), hn::LoadU(d, v));
  };
  const auto weight = [&](const float* w) { return hn::LoadU(d, w); };
  for_each_vector(dim, update_moments, gradient, state, state + dim);
  const float weight_norm = std::sqrt(sum_of_squares(dim, weight, weights));
  const float step_norm =
      std::sqrt(sum_of_squares(dim, step, static_cast<const float*>(weights), state, state + dim));
  const float phi = weight_norm > 0 && step_norm > 0 ? weight_norm / step_norm : 1.0f;
  const Vector rate = hn::Set(d, h.lr * phi);
  const auto move = [&](const float* m, float* v, float* w) {
    hn::StoreU(hn::NegMulAdd(rate, step(w, m, v), hn::LoadU(d, w)), d, w);
  };
  for_each_vector(dim, move, state, state + dim, weights);
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
    case config::Optimizer::rowwise_adam:
      return rowwise_adam;
    case config::Optimizer::ftrl:
      return ftrl;
    case config::Optimizer::lamb:
      return lamb;
  }
  return nullptr;
}

}  // namespace
}  // namespace satrap::store::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace satrap::store {

HWY_EXPORT(update_row);

UpdateRow update_kernel(config::Optimizer optimizer, bool momentum) {
  return HWY_DYNAMIC_DISPATCH(update_row)(optimizer, momentum);
}

}  // namespace satrap::store
#endif
