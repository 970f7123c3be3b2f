// Google Benchmark micro-benchmarks of the store beside plain memory. Each argument pair is
// dim, MiB of table.

#include <benchmark/benchmark.h>

#include <memory>
#include <optional>
#include <utility>

#include "core/hash.hpp"
#include "workload.hpp"

namespace satrap::bench {
namespace {

/// The workload of the last benchmark is kept: filling it takes longer than measuring.
Workload& workload(const benchmark::State& state, config::Optimizer optimizer) {
  static std::unique_ptr<Workload> kept;
  static std::pair<std::int64_t, std::int64_t> kept_for;
  const std::pair wanted{state.range(0), state.range(1)};
  if (kept == nullptr || kept_for != wanted || kept->config.optimizer != optimizer) {
    kept.reset();
    const auto config = table_config(state.range(0), optimizer);
    const std::int64_t rows = (state.range(1) << 20) / store::Table::bytes_per_row(config);
    kept = std::make_unique<Workload>(state.range(0), rows, optimizer);
    kept_for = wanted;
  }
  return *kept;
}

template <class Run>
void measure(benchmark::State& state, config::Optimizer optimizer, Run&& run) {
  Workload& w = workload(state, optimizer);
  for (auto _ : state) {
    state.PauseTiming();
    w.draw();
    state.ResumeTiming();
    run(w);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}

constexpr auto kRowwise = config::Optimizer::rowwise_adagrad;

void BM_PlainGather(benchmark::State& state) {
  measure(state, kRowwise, [](Workload& w) { w.plain.gather(w.places, w.values.data()); });
}
void BM_Lookup(benchmark::State& state) {
  measure(state, kRowwise,
          [](Workload& w) { w.table.lookup(w.ids, store::Missing::insert, w.values.data()); });
}
void BM_EvaluationLookup(benchmark::State& state) {
  measure(state, kRowwise,
          [](Workload& w) { w.table.lookup(w.ids, store::Missing::zeros, w.values.data()); });
}
void BM_PlainReadWrite(benchmark::State& state) {
  measure(state, kRowwise, [](Workload& w) { w.plain.add(w.places, w.gradients.data()); });
}
void BM_Update(benchmark::State& state) {
  measure(state, kRowwise, [](Workload& w) { w.table.apply(w.ids, w.gradients.data(), {}); });
}
void BM_UpdateAdam(benchmark::State& state) {
  measure(state, config::Optimizer::adam,
          [](Workload& w) { w.table.apply(w.ids, w.gradients.data(), {.step = 1}); });
}
void BM_PlainWrite(benchmark::State& state) {
  measure(state, kRowwise, [](Workload& w) { w.plain.write(w.places, w.gradients.data()); });
}
/// New ids into a table that is emptied when it has as many rows as the workload's.
void BM_Insert(benchmark::State& state) {
  std::uint64_t next = 0;
  std::optional<store::Table> table;
  measure(state, kRowwise, [&](Workload& w) {
    state.PauseTiming();
    if (!table || table->size() >= w.plain.rows()) table.emplace(TableId{1}, w.config, 1);
    for (FeatureId& id : w.ids) id = FeatureId{mix(next++)};
    state.ResumeTiming();
    table->lookup(w.ids, store::Missing::insert, w.values.data());
  });
}

#define SATRAP_SIZES ArgsProduct({{16, 64}, {64, 512}})->ArgNames({"dim", "MiB"})
BENCHMARK(BM_PlainGather)->SATRAP_SIZES;
BENCHMARK(BM_Lookup)->SATRAP_SIZES;
BENCHMARK(BM_EvaluationLookup)->SATRAP_SIZES;
BENCHMARK(BM_PlainReadWrite)->SATRAP_SIZES;
BENCHMARK(BM_Update)->SATRAP_SIZES;
BENCHMARK(BM_PlainWrite)->SATRAP_SIZES;
BENCHMARK(BM_Insert)->SATRAP_SIZES;
BENCHMARK(BM_UpdateAdam)->SATRAP_SIZES;

}  // namespace
}  // namespace satrap::bench

BENCHMARK_MAIN();
