// Google Benchmark micro-benchmarks of the store beside plain memory. Each argument pair is
// dim, MiB of table.

#include <benchmark/benchmark.h>

#include <memory>
#include <optional>
#include <utility>

#include "plain_rows.hpp"
#include "workload.hpp"

namespace satrap::bench {
namespace {

/// A table with the ids 0 ... rows - 1, and plain memory with as many rows.
struct Workload {
  Workload(std::int64_t dim, std::int64_t bytes, config::Optimizer optimizer)
      : config(table_config(dim, config::Storage::fp32, optimizer)),
        rows(rows_of(config, bytes)),
        table(TableId{0}, config, 1),
        plain(rows, table.layout()),
        batches(rows, dim) {
    fill(table, rows);
  }

  config::TableConfig config;
  std::int64_t rows;
  store::Table table;
  PlainRows plain;
  Batches batches;
};

/// The workload of the last benchmark is kept: filling it takes longer than measuring.
Workload& workload(const benchmark::State& state, config::Optimizer optimizer) {
  static std::unique_ptr<Workload> kept;
  static std::pair<std::int64_t, std::int64_t> kept_for;
  const std::pair wanted{state.range(0), state.range(1)};
  if (kept == nullptr || kept_for != wanted || kept->config.optimizer != optimizer) {
    kept.reset();
    kept = std::make_unique<Workload>(state.range(0), state.range(1) << 20, optimizer);
    kept_for = wanted;
  }
  return *kept;
}

template <class Run>
void measure(benchmark::State& state, config::Optimizer optimizer, Run&& run) {
  Workload& w = workload(state, optimizer);
  for (auto _ : state) {
    state.PauseTiming();
    w.batches.draw();
    state.ResumeTiming();
    run(w, w.batches);
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}

constexpr auto kRowwise = config::Optimizer::rowwise_adagrad;

void BM_PlainGather(benchmark::State& state) {
  measure(state, kRowwise,
          [](Workload& w, Batches& b) { w.plain.gather(b.places, b.values.data()); });
}
void BM_Lookup(benchmark::State& state) {
  measure(state, kRowwise,
          [](Workload& w, Batches& b) { w.table.lookup(b.ids, 1, b.values.data()); });
}
void BM_EvaluationLookup(benchmark::State& state) {
  measure(state, kRowwise, [](Workload& w, Batches& b) { w.table.peek(b.ids, b.values.data()); });
}
void BM_PlainReadWrite(benchmark::State& state) {
  measure(state, kRowwise,
          [](Workload& w, Batches& b) { w.plain.add(b.places, b.gradients.data()); });
}
void BM_Update(benchmark::State& state) {
  measure(state, kRowwise,
          [](Workload& w, Batches& b) { w.table.apply(b.ids, b.gradients.data(), {}); });
}
void BM_UpdateAdam(benchmark::State& state) {
  measure(state, config::Optimizer::adam,
          [](Workload& w, Batches& b) { w.table.apply(b.ids, b.gradients.data(), {.step = 1}); });
}
void BM_PlainWrite(benchmark::State& state) {
  measure(state, kRowwise,
          [](Workload& w, Batches& b) { w.plain.write(b.places, b.gradients.data()); });
}
/// New ids into a table that is emptied when it has as many rows as the workload's.
void BM_Insert(benchmark::State& state) {
  std::optional<store::Table> table;
  measure(state, kRowwise, [&](Workload& w, Batches& b) {
    state.PauseTiming();
    if (!table || table->size() >= w.rows) table.emplace(TableId{1}, w.config, 1);
    b.draw_new_ids();
    state.ResumeTiming();
    table->lookup(b.ids, 1, b.values.data());
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
