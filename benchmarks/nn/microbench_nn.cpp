#include <benchmark/benchmark.h>

#include <vector>

#include "nn/interaction.hpp"
#include "nn/linear.hpp"
#include "nn/matmul_time.hpp"
#include "workload.hpp"

namespace satrap::nn {
namespace {

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

}  // namespace
}  // namespace satrap::nn

BENCHMARK_MAIN();
