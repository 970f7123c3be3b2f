#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cstring>
#include <span>
#include <vector>

#include "core/random.hpp"
#include "store/row_ops.hpp"

namespace satrap::store {

/// The settings of rows for tests of the optimizers: all of them, with what each can have.
inline std::vector<config::TableConfig> optimizer_configs(std::int64_t dim) {
  using config::Optimizer;
  std::vector<config::TableConfig> configs;
  const auto add = [&](Optimizer optimizer, auto... change) {
    config::TableConfig config;
    config.name = "items";
    config.dim = dim;
    config.optimizer = optimizer;
    config.lr = 0.3;
    config.eps = 1e-4;
    config.init_range = 0.05;
    (change(config), ...);
    configs.push_back(config);
  };
  const auto decay = [](auto& c) { c.weight_decay = 0.05; };
  const auto accumulator = [](auto& c) { c.initial_accumulator = 0.5; };
  const auto global = [](auto& c) { c.bias_correction = config::BiasCorrection::global; };
  add(Optimizer::sgd);
  add(Optimizer::sgd, decay);
  add(Optimizer::sgd, decay, [](auto& c) { c.momentum = 0.9; });
  add(Optimizer::adagrad, accumulator);
  add(Optimizer::adagrad, decay);
  add(Optimizer::rowwise_adagrad, accumulator);
  add(Optimizer::rowwise_adagrad, decay);
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::rowwise_adam, Optimizer::lamb}) {
    add(optimizer);
    add(optimizer, decay);
    add(optimizer, global);
  }
  add(Optimizer::ftrl);
  add(Optimizer::ftrl, accumulator, [](auto& c) {
    c.l1 = 0.2;
    c.l2 = 0.1;
    c.beta = 0.5;
  });
  return configs;
}

/// Values in [-1, 1), a function of `which`.
inline std::vector<float> random_floats(std::uint64_t which, std::size_t n) {
  RandomSequence random(9, RandomStream::teacher, which);
  std::vector<float> values(n);
  for (float& value : values) value = 2.0f * unit_float(random()) - 1.0f;
  return values;
}

/// One row between guards, at an odd multiple of 4 bytes, with what is done to it.
class OneRow {
 public:
  explicit OneRow(const config::TableConfig& config, FeatureId id = FeatureId{77},
                  std::uint64_t seed = 5, TableId table = TableId{1})
      : ops_(table, config, seed), dim_(static_cast<std::size_t>(config.dim)), id_(id) {
    words_.assign(2 * kGuard + ops_.layout().bytes / 4, kPattern);
    ops_.initialize(id, row());
  }
  OneRow(const OneRow&) = delete;
  OneRow& operator=(const OneRow&) = delete;
  ~OneRow() {
    // The id, at the start of the row, belongs to the guard.
    for (std::size_t i = 0; i < kGuard + 2; ++i) EXPECT_EQ(words_[i], kPattern) << i;
    for (std::size_t i = words_.size() - kGuard; i < words_.size(); ++i) {
      EXPECT_EQ(words_[i], kPattern) << i;
    }
  }

  void update(const float* gradient, Step step, float lr_factor = 1.0f) {
    const Hyper hyper = ops_.hyper({.step = step, .lr_factor = lr_factor});
    ops_.update(hyper, id_, gradient, row());
  }
  /// Steps first to last with random gradients.
  void train(Step first, Step last) {
    for (Step step = first; step <= last; ++step) {
      update(random_floats(static_cast<std::uint64_t>(step), dim_).data(), step);
    }
  }

  std::vector<float> weights() const {
    std::vector<float> weights(dim_);
    ops_.read(row(), weights.data());
    return weights;
  }
  /// Where they are fp32.
  void set_weights(std::span<const float> weights) {
    std::memcpy(row() + ops_.layout().weights, weights.data(), weights.size_bytes());
  }
  std::vector<float> state() const {
    std::vector<float> state(static_cast<std::size_t>(ops_.state_values()));
    if (!state.empty()) std::memcpy(state.data(), row() + ops_.layout().state, state.size() * 4);
    return state;
  }
  std::uint32_t updates() const {
    std::uint32_t updates = 0;
    if (ops_.layout().has_updates) std::memcpy(&updates, row() + ops_.layout().updates, 4);
    return updates;
  }
  std::vector<std::byte> stored_weights() const {
    const RowLayout& at = ops_.layout();
    return {row() + at.weights, row() + at.weights + at.weight_bytes};
  }
  std::vector<std::byte> stored_state() const {
    const RowLayout& at = ops_.layout();
    return {row() + at.state, row() + at.state + at.state_bytes};
  }
  /// All but the id.
  std::vector<std::byte> bytes() const {
    return {row() + sizeof(FeatureId), row() + ops_.layout().bytes};
  }

 private:
  static constexpr std::size_t kGuard = 33;
  static constexpr std::uint32_t kPattern = 0xA5A5A5A5U;

  std::byte* row() { return reinterpret_cast<std::byte*>(&words_[kGuard]); }
  const std::byte* row() const { return reinterpret_cast<const std::byte*>(&words_[kGuard]); }

  RowOps ops_;
  std::size_t dim_;
  FeatureId id_;
  std::vector<std::uint32_t> words_;
};

/// While it lives, kernels that are asked for are those of one instruction set.
class OnlyTarget {
 public:
  explicit OnlyTarget(std::int64_t target) { set(target); }
  ~OnlyTarget() { set(0); }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;

 private:
  static void set(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

/// Those that kernels are compiled for and this machine has.
inline std::vector<std::int64_t> targets() {
  std::vector<std::int64_t> targets;
  for (const std::int64_t target : {HWY_SSE4, HWY_AVX2, HWY_AVX3}) {
    if ((hwy::SupportedTargets() & target) != 0) targets.push_back(target);
  }
  return targets;
}

}  // namespace satrap::store
