#pragma once

#include <string_view>

#include "config/config.hpp"

namespace satrap::config {

template <class E>
struct Name {
  E value;
  std::string_view text;
};

/// How the choices of an enumeration are spelled in config files, in the order of the help text.
template <class E>
struct Names;

template <>
struct Names<DataFormat> {
  static constexpr Name<DataFormat> all[] = {{DataFormat::criteo, "criteo"},
                                             {DataFormat::csv, "csv"}};
};
template <>
struct Names<DenseTransform> {
  static constexpr Name<DenseTransform> all[] = {{DenseTransform::log1p, "log1p"},
                                                 {DenseTransform::standardize, "standardize"},
                                                 {DenseTransform::none, "none"}};
};
template <>
struct Names<Pooling> {
  static constexpr Name<Pooling> all[] = {{Pooling::sum, "sum"}, {Pooling::mean, "mean"}};
};
template <>
struct Names<Optimizer> {
  static constexpr Name<Optimizer> all[] = {{Optimizer::sgd, "sgd"},
                                            {Optimizer::adagrad, "adagrad"},
                                            {Optimizer::rowwise_adagrad, "rowwise_adagrad"},
                                            {Optimizer::adam, "adam"}};
};
template <>
struct Names<BiasCorrection> {
  static constexpr Name<BiasCorrection> all[] = {{BiasCorrection::row, "row"},
                                                 {BiasCorrection::global, "global"}};
};
template <>
struct Names<Eviction> {
  static constexpr Name<Eviction> all[] = {{Eviction::none, "none"}, {Eviction::lru, "lru"}};
};
template <>
struct Names<Model> {
  static constexpr Name<Model> all[] = {{Model::dlrm, "dlrm"}, {Model::ffnn, "ffnn"}};
};
template <>
struct Names<Activation> {
  static constexpr Name<Activation> all[] = {{Activation::relu, "relu"},
                                             {Activation::none, "none"}};
};
template <>
struct Names<Mode> {
  static constexpr Name<Mode> all[] = {{Mode::sync, "sync"}, {Mode::hybrid, "hybrid"}};
};
template <>
struct Names<Decay> {
  static constexpr Name<Decay> all[] = {{Decay::none, "none"},
                                        {Decay::polynomial, "polynomial"},
                                        {Decay::cosine, "cosine"},
                                        {Decay::step, "step"}};
};

/// The spelling of a choice, for messages, logs and files: name(Optimizer::adam) is "adam".
template <class E>
constexpr std::string_view name(E value) noexcept {
  for (const auto& choice : Names<E>::all)
    if (choice.value == value) return choice.text;
  return "?";
}

}  // namespace satrap::config
