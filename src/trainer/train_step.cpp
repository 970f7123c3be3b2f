#include "trainer/train_step.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "comm/protocol/row_layout.hpp"
#include "nn/loss.hpp"
#include "nn/pooling.hpp"
#include "worker/embedding_client.hpp"

namespace satrap::trainer {

namespace {

// Gradients are summed over the trainers in pieces of at least this many floats, each started as
// soon as the backward pass has finished it.
constexpr std::int64_t kBucketFloats = std::int64_t{1} << 18;

bool all_finite(std::span<const float> values) {
  // Infinities and NaN have every bit of the exponent set. A maximum of integers vectorises; a sum
  // of floats, whose order counts, does not.
  constexpr std::uint32_t kExponent = 0x7f800000;
  std::uint32_t largest = 0;
  for (const float x : values) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(x) & kExponent);
  }
  return largest < kExponent;
}

}  // namespace

nn::ModelShape model_shape(const config::Config& config) {
  nn::ModelShape shape;
  shape.dense_features = config.dense_features();
  for (std::size_t s = 0; s < config.slots.size(); ++s) {
    shape.slot_dims.push_back(config.tables[config.table_of_slot(s)].dim);
  }
  return shape;
}

TrainStep::TrainStep(const config::Config& config, comm::Collectives& collectives)
    : config_(config),
      collectives_(collectives),
      shape_(model_shape(config)),
      dims_(worker::table_dims(config)),
      model_(nn::make_model(config.model, shape_, config.job.seed)),
      optimizer_(nn::make_optimizer(config.dense_optimizer,
                                    static_cast<std::int64_t>(model_->parameters().size()))) {}

/// Calls fn(bags, floats before the slot's table's rows, floats before the slot in a pooled
/// sample).
template <class Fn>
void TrainStep::for_each_slot(const worker::ReadyBatch& batch, Fn&& fn) const {
  const comm::RowLayout layout(batch.unique, dims_);
  std::int64_t column = 0;
  for (std::size_t s = 0; s < config_.slots.size(); ++s) {
    const std::size_t table = config_.table_of_slot(s);
    const auto& slot = batch.ids->slots[s];
    const nn::BagView bags{batch.ids->size(),        slot.indices.data(),
                           slot.offsets.data(),      dims_[table],
                           config_.slots[s].pooling, config_.tables[table].rows_per_id()};
    fn(bags, layout.offset[table], column);
    column += dims_[table];
  }
}

void TrainStep::pool(const worker::ReadyBatch& batch, const float* rows) {
  const std::int64_t width = shape_.pooled_width();
  pooled_.resize(static_cast<std::size_t>(batch.ids->size() * width));
  for_each_slot(batch, [&](const nn::BagView& bags, std::int64_t first, std::int64_t column) {
    nn::pool_forward(bags, rows + first, pooled_.data() + column, width);
  });
}

void TrainStep::pool_gradients(const worker::ReadyBatch& batch,
                               std::span<const float> pooled_gradients) {
  const std::int64_t width = shape_.pooled_width();
  row_gradients_.assign(static_cast<std::size_t>(comm::RowLayout(batch.unique, dims_).floats),
                        0.0f);
  for_each_slot(batch, [&](const nn::BagView& bags, std::int64_t first, std::int64_t column) {
    nn::pool_backward(bags, pooled_gradients.data() + column, width, row_gradients_.data() + first);
  });
}

StepResult TrainStep::train(const worker::ReadyBatch& batch, const float* rows, bool stop) {
  const std::int64_t n = batch.ids->size();
  pool(batch, rows);
  logits_ = model_->forward(n, batch.ids->dense.data(), pooled_.data(), true);
  logit_gradients_.resize(static_cast<std::size_t>(n));
  const double loss =
      nn::bce_with_logits(n, logits_.data(), batch.ids->labels.data(),
                          1.0f / static_cast<float>(batch.global_samples), logit_gradients_.data());

  const std::span<float> gradients = model_->gradients();
  auto bucket_end = static_cast<std::int64_t>(gradients.size());
  const auto pooled_gradients = model_->backward(logit_gradients_.data(), [&](std::int64_t offset) {
    if (bucket_end - offset < kBucketFloats && offset > 0) return;
    collectives_.start_sum(gradients.subspan(static_cast<std::size_t>(offset),
                                             static_cast<std::size_t>(bucket_end - offset)));
    bucket_end = offset;
  });
  const bool finite = std::isfinite(loss) && all_finite(pooled_gradients);
  // Under way while the pooled gradients are summed per row.
  pool_gradients(batch, pooled_gradients);
  collectives_.wait_sums();

  std::array<double, 6> all = {finite ? loss : 0.0,
                               static_cast<double>(n),
                               finite ? 0.0 : 1.0,
                               stop ? 1.0 : 0.0,
                               static_cast<double>(batch.staleness),
                               static_cast<double>(batch.bad_rows)};
  collectives_.sum(all);

  StepResult result;
  result.samples = static_cast<std::int64_t>(all[1]);
  result.loss = all[0] / std::max(1.0, all[1]);
  result.finite = all[2] == 0.0 && all_finite(gradients);
  result.stop = all[3] > 0.0;
  result.staleness = all[4] / collectives_.size();
  result.bad_rows = static_cast<std::int64_t>(all[5]);
  if (result.finite) {
    optimizer_->update(model_->parameters(), gradients, batch.step,
                       nn::schedule_factor(config_.schedule, batch.step));
  } else {
    row_gradients_.clear();
  }
  return result;
}

std::span<const float> TrainStep::evaluate(const worker::ReadyBatch& batch, const float* rows) {
  pool(batch, rows);
  logits_ = model_->forward(batch.ids->size(), batch.ids->dense.data(), pooled_.data(), false);
  return logits_;
}

void TrainStep::average_state() {
  if (collectives_.size() == 1 || model_->state().empty()) return;
  collectives_.start_sum(model_->state());
  collectives_.wait_sums();
  for (float& x : model_->state()) x /= static_cast<float>(collectives_.size());
}

}  // namespace satrap::trainer
