#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/random.hpp"
#include "nn/model.hpp"

namespace satrap::nn::reference {

// Slow and obvious forms of the models, in double: what src/nn is compared with.

using Values = std::vector<double>;
using Arrays = std::map<std::string, Values>;

/// Row-major.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  Values values = Values(rows * columns);

  double& at(std::size_t i, std::size_t j) { return values[i * columns + j]; }
  double at(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
};

inline Matrix matrix(std::size_t rows, std::size_t columns, const std::vector<float>& values) {
  return {rows, columns, Values(values.begin(), values.end())};
}

inline Matrix linear(const Matrix& x, const Values& weight, const Values& bias, bool relu) {
  Matrix y{x.rows, bias.size()};
  for (std::size_t n = 0; n < x.rows; ++n) {
    for (std::size_t o = 0; o < y.columns; ++o) {
      double sum = bias[o];
      for (std::size_t i = 0; i < x.columns; ++i) sum += x.at(n, i) * weight[o * x.columns + i];
      y.at(n, o) = relu ? std::max(sum, 0.0) : sum;
    }
  }
  return y;
}

inline Matrix mlp(const Arrays& arrays, const std::string& name, Matrix x, bool relu,
                  bool relu_last) {
  for (int i = 0;; ++i) {
    const std::string layer = name + "/" + std::to_string(i);
    if (!arrays.contains(layer + "/weight")) return x;
    const bool last = !arrays.contains(name + "/" + std::to_string(i + 1) + "/weight");
    x = linear(x, arrays.at(layer + "/weight"), arrays.at(layer + "/bias"),
               last ? relu_last : relu);
  }
}

/// Normalises by the batch's own statistics.
inline Matrix batch_norm(const Matrix& x, const Values& scale, const Values& shift) {
  Matrix y{x.rows, x.columns};
  const auto n = static_cast<double>(x.rows);
  for (std::size_t j = 0; j < x.columns; ++j) {
    double mean = 0.0;
    double variance = 0.0;
    for (std::size_t i = 0; i < x.rows; ++i) mean += x.at(i, j) / n;
    for (std::size_t i = 0; i < x.rows; ++i) variance += std::pow(x.at(i, j) - mean, 2) / n;
    for (std::size_t i = 0; i < x.rows; ++i) {
      y.at(i, j) = (x.at(i, j) - mean) / std::sqrt(variance + 1e-5) * scale[j] + shift[j];
    }
  }
  return y;
}

inline Matrix join(const Matrix& a, const Matrix& b) {
  Matrix joined{a.rows, a.columns + b.columns};
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.columns; ++j) joined.at(i, j) = a.at(i, j);
    for (std::size_t j = 0; j < b.columns; ++j) joined.at(i, a.columns + j) = b.at(i, j);
  }
  return joined;
}

/// The strictly lower triangle of the products of features [dim] of each sample, row by row.
inline Matrix products(const Matrix& features, std::size_t dim) {
  const std::size_t count = features.columns / dim;
  Matrix out{features.rows, count * (count - 1) / 2};
  for (std::size_t n = 0; n < features.rows; ++n) {
    std::size_t k = 0;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < i; ++j, ++k) {
        for (std::size_t d = 0; d < dim; ++d) {
          out.at(n, k) += features.at(n, i * dim + d) * features.at(n, j * dim + d);
        }
      }
    }
  }
  return out;
}

inline Values logits(const config::ModelConfig& config, std::size_t dim, const Arrays& arrays,
                     const Matrix& dense, const Matrix& pooled) {
  if (config.kind == config::Model::dlrm) {
    const Matrix bottom = mlp(arrays, "bottom", dense, true, true);
    const Matrix x = join(bottom, products(join(bottom, pooled), dim));
    return mlp(arrays, "top", x, true, false).values;
  }
  Matrix sparse_in = mlp(arrays, "sparse_in", pooled, false, false);
  Matrix dense_in = mlp(arrays, "dense_in", dense, false, false);
  if (config.batch_norm) {
    sparse_in = batch_norm(sparse_in, arrays.at("bn_sparse/scale"), arrays.at("bn_sparse/shift"));
    dense_in = batch_norm(dense_in, arrays.at("bn_dense/scale"), arrays.at("bn_dense/shift"));
  }
  const bool relu = config.activation == config::Activation::relu;
  return mlp(arrays, "top", join(sparse_in, dense_in), relu, false).values;
}

inline double mean_bce(const Values& logits, const std::vector<float>& labels) {
  double sum = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double p = 1.0 / (1.0 + std::exp(-logits[i]));
    sum -= labels[i] > 0.5f ? std::log(p) : std::log(1.0 - p);
  }
  return sum / static_cast<double>(logits.size());
}

/// ∂f/∂x for each x of `values`, by central differences; leaves the values as they were.
template <class Function>
Values differences(Values& values, Function f) {
  constexpr double kStep = 1e-5;
  Values gradient;
  for (double& x : values) {
    const double saved = x;
    x = saved + kStep;
    const double above = f();
    x = saved - kStep;
    const double below = f();
    x = saved;
    gradient.push_back((above - below) / (2 * kStep));
  }
  return gradient;
}

inline std::vector<float> random_floats(std::size_t n, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::teacher);
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

/// The parameters of a model by name.
inline Arrays arrays_of(DenseModel& model) {
  Arrays arrays;
  for (const ParameterInfo& info : model.parameter_info()) {
    const auto begin = model.parameters().begin() + info.offset;
    arrays[info.name] = Values(begin, begin + info.size);
  }
  return arrays;
}

template <class Actual>
void expect_near(const Actual& actual, const Values& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(static_cast<std::size_t>(std::size(actual)), expected.size()) << what;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(actual[i]), expected[i], tolerance) << what << ", value " << i;
  }
}

}  // namespace satrap::nn::reference
