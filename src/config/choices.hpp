#pragma once

#include <string_view>

namespace satrap::config {

// The values of keys that are choices, and how they are spelled in config files, in the order of
// the help text.

template <class E>
struct Spelling {
  E value;
  std::string_view text;
};

/// Spellings<E>::all lists every value of E once.
template <class E>
struct Spellings;

enum class DataFormat { criteo, csv };

template <>
struct Spellings<DataFormat> {
  static constexpr Spelling<DataFormat> all[] = {{DataFormat::criteo, "criteo"},
                                                 {DataFormat::csv, "csv"}};
};

enum class DenseTransform { log1p, standardize, none };

template <>
struct Spellings<DenseTransform> {
  static constexpr Spelling<DenseTransform> all[] = {{DenseTransform::log1p, "log1p"},
                                                     {DenseTransform::standardize, "standardize"},
                                                     {DenseTransform::none, "none"}};
};

enum class Pooling { sum, mean };

template <>
struct Spellings<Pooling> {
  static constexpr Spelling<Pooling> all[] = {{Pooling::sum, "sum"}, {Pooling::mean, "mean"}};
};

enum class Optimizer { sgd, adagrad, rowwise_adagrad, adam, rowwise_adam, ftrl, lamb };

template <>
struct Spellings<Optimizer> {
  static constexpr Spelling<Optimizer> all[] = {{Optimizer::sgd, "sgd"},
                                                {Optimizer::adagrad, "adagrad"},
                                                {Optimizer::rowwise_adagrad, "rowwise_adagrad"},
                                                {Optimizer::adam, "adam"},
                                                {Optimizer::rowwise_adam, "rowwise_adam"},
                                                {Optimizer::ftrl, "ftrl"},
                                                {Optimizer::lamb, "lamb"}};
};

enum class Storage { fp32, fp16, bf16, int8 };

template <>
struct Spellings<Storage> {
  static constexpr Spelling<Storage> all[] = {{Storage::fp32, "fp32"},
                                              {Storage::fp16, "fp16"},
                                              {Storage::bf16, "bf16"},
                                              {Storage::int8, "int8"}};
};

enum class Rounding { stochastic, nearest };

template <>
struct Spellings<Rounding> {
  static constexpr Spelling<Rounding> all[] = {{Rounding::stochastic, "stochastic"},
                                               {Rounding::nearest, "nearest"}};
};

enum class BiasCorrection { row, global };

template <>
struct Spellings<BiasCorrection> {
  static constexpr Spelling<BiasCorrection> all[] = {{BiasCorrection::row, "row"},
                                                     {BiasCorrection::global, "global"}};
};

enum class Eviction { none, lru, lfu, ttl };

template <>
struct Spellings<Eviction> {
  static constexpr Spelling<Eviction> all[] = {{Eviction::none, "none"},
                                               {Eviction::lru, "lru"},
                                               {Eviction::lfu, "lfu"},
                                               {Eviction::ttl, "ttl"}};
};

enum class NotAdmitted { zeros, shared_row };

template <>
struct Spellings<NotAdmitted> {
  static constexpr Spelling<NotAdmitted> all[] = {{NotAdmitted::zeros, "zeros"},
                                                  {NotAdmitted::shared_row, "shared_row"}};
};

enum class Model { dlrm, ffnn };

template <>
struct Spellings<Model> {
  static constexpr Spelling<Model> all[] = {{Model::dlrm, "dlrm"}, {Model::ffnn, "ffnn"}};
};

enum class Activation { relu, none };

template <>
struct Spellings<Activation> {
  static constexpr Spelling<Activation> all[] = {{Activation::relu, "relu"},
                                                 {Activation::none, "none"}};
};

enum class Mode { sync, hybrid };

template <>
struct Spellings<Mode> {
  static constexpr Spelling<Mode> all[] = {{Mode::sync, "sync"}, {Mode::hybrid, "hybrid"}};
};

enum class Decay { none, polynomial, cosine, step };

template <>
struct Spellings<Decay> {
  static constexpr Spelling<Decay> all[] = {{Decay::none, "none"},
                                            {Decay::polynomial, "polynomial"},
                                            {Decay::cosine, "cosine"},
                                            {Decay::step, "step"}};
};

/// The spelling of a choice, for messages, logs and files: name_of(Optimizer::adam) is "adam".
template <class E>
constexpr std::string_view name_of(E value) noexcept {
  for (const auto& spelling : Spellings<E>::all)
    if (spelling.value == value) return spelling.text;
  return "?";
}

}  // namespace satrap::config
