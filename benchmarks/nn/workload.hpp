#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/config.hpp"
#include "core/random.hpp"
#include "nn/loss.hpp"
#include "nn/model.hpp"
#include "nn/optimizer.hpp"
#include "nn/pooling.hpp"

namespace satrap::nn {

inline constexpr std::int64_t kBatch = 2048;
inline constexpr std::int64_t kSlots = 26;
inline constexpr std::int64_t kDense = 13;
inline constexpr std::int64_t kDim = 16;

inline std::vector<float> random_floats(std::int64_t n) {
  RandomSequence random(1, RandomStream::teacher, static_cast<std::uint64_t>(n));
  std::vector<float> values(static_cast<std::size_t>(n));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

/// One-hot bags of every slot, of ids as skewed as those of click logs: most samples share rows.
struct Slots {
  explicit Slots(std::int64_t dim) {
    RandomSequence random(2, RandomStream::teacher);
    for (std::int64_t i = 0; i <= kBatch; ++i) offsets.push_back(static_cast<std::uint32_t>(i));
    for (std::int64_t i = 0; i < kBatch; ++i) {
      const double u = random.uniform();
      indices.push_back(static_cast<std::uint32_t>(u * u * static_cast<double>(kUnique)));
    }
    rows = random_floats(kUnique * dim);
    row_gradients.resize(rows.size());
  }

  static constexpr std::int64_t kUnique = 700;
  std::vector<std::uint32_t> indices;
  std::vector<std::uint32_t> offsets;
  std::vector<float> rows;
  std::vector<float> row_gradients;
};

/// DLRM as MLPerf's small models have it, with all that a trainer does for a step on its core.
class DlrmStep {
 public:
  explicit DlrmStep(config::Optimizer optimizer) {
    config::ModelConfig config;  // the default: bottom 512-256-64, top 512-256
    model_ = make_model(config, {kDense, std::vector<std::int64_t>(kSlots, kDim)}, 1);
    config::DenseOptimizerConfig optimizer_config;
    optimizer_config.kind = optimizer;
    optimizer_ =
        make_optimizer(optimizer_config, static_cast<std::int64_t>(model_->parameters().size()));
    for (float& label : labels_) label = label > 0.7f ? 1.0f : 0.0f;
  }

  double run() {
    for (std::int64_t slot = 0; slot < kSlots; ++slot) {
      pool_forward(bags(), slots_[static_cast<std::size_t>(slot)].rows.data(),
                   pooled_.data() + slot * kDim, kSlots * kDim);
    }
    const auto logits = model_->forward(kBatch, dense_.data(), pooled_.data(), true);
    const double loss = bce_with_logits(kBatch, logits.data(), labels_.data(), 1.0f / kBatch,
                                        logit_gradients_.data());
    const auto gradients = model_->backward(logit_gradients_.data(), {});
    for (std::int64_t slot = 0; slot < kSlots; ++slot) {
      auto& row_gradients = slots_[static_cast<std::size_t>(slot)].row_gradients;
      std::ranges::fill(row_gradients, 0.0f);
      pool_backward(bags(), gradients.data() + slot * kDim, kSlots * kDim, row_gradients.data());
    }
    optimizer_->update(model_->parameters(), model_->gradients(), ++step_, 1.0f);
    return loss;
  }

  const DenseModel& model() const { return *model_; }

 private:
  BagView bags() const {
    return {kBatch, slots_[0].indices.data(), slots_[0].offsets.data(), kDim, config::Pooling::sum};
  }

  std::unique_ptr<DenseModel> model_;
  std::unique_ptr<DenseOptimizer> optimizer_;
  std::vector<Slots> slots_ = std::vector<Slots>(kSlots, Slots(kDim));
  std::vector<float> dense_ = random_floats(kBatch * kDense);
  std::vector<float> labels_ = random_floats(kBatch);
  std::vector<float> pooled_ = std::vector<float>(kBatch * kSlots * kDim);
  std::vector<float> logit_gradients_ = std::vector<float>(kBatch);
  Step step_ = 0;
};

}  // namespace satrap::nn
