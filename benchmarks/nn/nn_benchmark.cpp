#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <time.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "core/random.hpp"
#include "nn/interaction.hpp"
#include "nn/linear.hpp"
#include "nn/loss.hpp"
#include "nn/matmul_time.hpp"
#include "nn/model.hpp"
#include "nn/optimizer.hpp"
#include "nn/pooling.hpp"

namespace satrap::nn {
namespace {

constexpr std::int64_t kBatch = 2048;
constexpr std::int64_t kSlots = 26;
constexpr std::int64_t kDense = 13;
constexpr std::int64_t kDim = 16;

std::vector<float> random_floats(std::int64_t n) {
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

void BM_DlrmStep(benchmark::State& state) {
  DlrmStep step(static_cast<config::Optimizer>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(step.run());
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_DlrmStep)
    ->Arg(static_cast<int>(config::Optimizer::sgd))
    ->Arg(static_cast<int>(config::Optimizer::adam))
    ->Unit(benchmark::kMillisecond);

void BM_BareProducts(benchmark::State& state) {
  const DlrmStep step(config::Optimizer::sgd);
  BareProducts products(step.model().linear_shapes(), kBatch);
  for (auto _ : state) products.run();
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_BareProducts)->Unit(benchmark::kMillisecond);

void BM_Linear(benchmark::State& state) {
  const LinearShape shape{state.range(0), state.range(1), true};
  std::vector<ParameterInfo> layout;
  Linear layer(layout, "layer", shape, Linear::Output::relu);
  const std::vector<float> parameters = random_floats(total_size(layout));
  const std::vector<float> x = random_floats(kBatch * shape.in);
  std::vector<float> y(static_cast<std::size_t>(kBatch * shape.out));
  std::vector<float> dy = random_floats(kBatch * shape.out);
  std::vector<float> dx(x.size());
  std::vector<float> gradients(parameters.size());
  for (auto _ : state) {
    layer.forward(parameters.data(), kBatch, x.data(), y.data());
    layer.backward(device::Stream(), parameters.data(), kBatch, x.data(), y.data(), dy.data(),
                   dx.data(), gradients.data());
  }
  state.counters["flop/s"] = benchmark::Counter(static_cast<double>(kBatch) * shape.flops(),
                                                benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_Linear)->Args({512, 256})->Args({367, 512})->Unit(benchmark::kMicrosecond);

void BM_Interaction(benchmark::State& state) {
  const std::int64_t dim = state.range(0);
  Interaction interaction(kSlots, dim);
  const std::vector<float> bottom = random_floats(kBatch * dim);
  const std::vector<float> pooled = random_floats(kBatch * kSlots * dim);
  std::vector<float> out = random_floats(kBatch * interaction.width());
  std::vector<float> d_bottom(bottom.size());
  std::vector<float> d_pooled(pooled.size());
  const bool forward = state.range(1) == 1;
  for (auto _ : state) {
    if (forward) {
      interaction.forward(kBatch, bottom.data(), pooled.data(), out.data());
    } else {
      interaction.backward(kBatch, bottom.data(), pooled.data(), out.data(), d_bottom.data(),
                           d_pooled.data());
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_Interaction)
    ->ArgNames({"dim", "forward"})
    ->ArgsProduct({{8, 16, 64, 128}, {1, 0}})
    ->Unit(benchmark::kMicrosecond);

void BM_Pooling(benchmark::State& state) {
  const std::int64_t dim = state.range(0);
  Slots slots(dim);
  const BagView bags{kBatch, slots.indices.data(), slots.offsets.data(), dim, config::Pooling::sum};
  std::vector<float> out(static_cast<std::size_t>(kBatch * dim));
  const bool forward = state.range(1) == 1;
  for (auto _ : state) {
    if (forward) {
      pool_forward(bags, slots.rows.data(), out.data(), dim);
    } else {
      pool_backward(bags, out.data(), dim, slots.row_gradients.data());
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK(BM_Pooling)
    ->ArgNames({"dim", "forward"})
    ->ArgsProduct({{8, 16, 64, 128}, {1, 0}})
    ->Unit(benchmark::kMicrosecond);

void BM_Optimizer(benchmark::State& state) {
  constexpr std::int64_t kParameters = 480000;
  config::DenseOptimizerConfig config;
  config.kind = static_cast<config::Optimizer>(state.range(0));
  const auto optimizer = make_optimizer(config, kParameters);
  std::vector<float> parameters = random_floats(kParameters);
  const std::vector<float> gradients = random_floats(kParameters);
  Step step = 0;
  for (auto _ : state) optimizer->update(parameters, gradients, ++step, 1.0f);
  state.SetItemsProcessed(state.iterations() * kParameters);
}
BENCHMARK(BM_Optimizer)
    ->Arg(static_cast<int>(config::Optimizer::sgd))
    ->Arg(static_cast<int>(config::Optimizer::adagrad))
    ->Arg(static_cast<int>(config::Optimizer::adam))
    ->Unit(benchmark::kMicrosecond);

/// Seconds of this thread's processor time: other programs on the machine do not count.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Steps and bare products in turn, the best of each.
void print_share_of_products() {
  for (const auto kind : {config::Optimizer::sgd, config::Optimizer::adam}) {
    DlrmStep step(kind);
    BareProducts products(step.model().linear_shapes(), kBatch);
    std::array<double, 2> best{1e9, 1e9};
    for (int i = 0; i < 20; ++i) {
      const double start = thread_seconds();
      step.run();
      const double middle = thread_seconds();
      products.run();
      const double end = thread_seconds();
      if (i == 0) continue;  // compiles
      best = {std::min(best[0], middle - start), std::min(best[1], end - middle)};
    }
    fmt::print(
        "DLRM step with {}: {:.2f} ms, its matrix products alone {:.2f} ms: ratio {:.3f}, share "
        "{:.1f} %\n",
        kind == config::Optimizer::sgd ? "sgd" : "adam", 1e3 * best[0], 1e3 * best[1],
        best[0] / best[1], 1e2 * best[1] / best[0]);
  }
}

}  // namespace
}  // namespace satrap::nn

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  satrap::nn::print_share_of_products();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
