#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "comm/collective/collectives.hpp"
#include "config/config.hpp"
#include "nn/model.hpp"
#include "nn/optimizer.hpp"
#include "worker/mailbox.hpp"

namespace satrap::trainer {

/// The result of one step, the same on every trainer.
struct StepResult {
  double loss = 0;           ///< Mean over the samples of all trainers.
  std::int64_t samples = 0;  ///< Of all trainers, bad rows left out.
  bool finite = true;        ///< If not, nothing was updated.
  bool stop = false;         ///< Some trainer has been asked to stop.
  double staleness = 0;      ///< Mean over the trainers.
  std::int64_t bad_rows = 0;
};

/// What the model of `config` takes in.
nn::ModelShape model_shape(const config::Config& config);

/// The dense half of training on one trainer: pooling, forward, backward, all-reduce, update.
/// Compute thread; every trainer must make the same calls.
class TrainStep {
 public:
  TrainStep(const config::Config& config, comm::Collectives& collectives);

  /// Trains on `batch`, whose rows are at `rows`. `stop` is whether this trainer wants to stop.
  StepResult train(const worker::ReadyBatch& batch, const float* rows, bool stop);
  /// The gradients of the rows of the last train(), laid out as the rows; empty if it was skipped.
  std::vector<float> take_row_gradients() { return std::move(row_gradients_); }

  /// Logits [batch] without training.
  std::span<const float> evaluate(const worker::ReadyBatch& batch, const float* rows);

  /// Logits of the last train() or evaluate().
  std::span<const float> logits() const noexcept { return logits_; }

  /// Makes the running statistics of batch normalisation the mean over the trainers. Collective.
  void average_state();

  nn::DenseModel& model() noexcept { return *model_; }
  nn::DenseOptimizer& optimizer() noexcept { return *optimizer_; }

 private:
  void pool(const worker::ReadyBatch& batch, const float* rows);
  void pool_gradients(const worker::ReadyBatch& batch, std::span<const float> pooled_gradients);
  template <class Fn>
  void for_each_slot(const worker::ReadyBatch& batch, Fn&& fn) const;

  const config::Config& config_;
  comm::Collectives& collectives_;
  nn::ModelShape shape_;
  std::vector<std::int64_t> dims_;  ///< [tables]
  std::unique_ptr<nn::DenseModel> model_;
  std::unique_ptr<nn::DenseOptimizer> optimizer_;
  std::vector<float> pooled_;           ///< [batch, pooled_width]
  std::vector<float> logit_gradients_;  ///< [batch]
  std::vector<float> row_gradients_;
  std::span<const float> logits_;
};

}  // namespace satrap::trainer
