#include "store/capacity/capacity_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/thread_time.hpp"
#include "store/capacity/process_memory.hpp"

namespace satrap::store {
namespace {

/// So that a stage has some batches, and none turns over a good part of the table.
constexpr std::int64_t kBatchesInTable = 64;

void check_stream(const CapacityOptions& o) {
  if (o.ids < 1 || o.ids > Zipf::kMaxRanks) {
    throw ConfigError(fmt::format("an id space of {} ids", o.ids), {}, "use 1 to 2^53");
  }
  if (!(o.zipf_exponent >= 0 && o.zipf_exponent <= 10)) {
    throw ConfigError(fmt::format("a Zipf exponent of {}", o.zipf_exponent), {}, "use 0 to 10");
  }
  if (o.batch < 1 || o.batch > std::int64_t{1} << 24) {
    throw ConfigError(fmt::format("batches of {} ids", o.batch), {}, "use 1 to 2^24");
  }
  if (!(o.seconds > 0 && o.seconds <= 1e6)) {
    throw ConfigError(fmt::format("stages of {} seconds", o.seconds), {}, "use more than 0");
  }
}

CapacityOptions checked(const CapacityOptions& o) {
  check_stream(o);
  const std::int64_t memory = o.table.capacity_bytes;
  const std::int64_t least = Table::bytes_for(o.table, kBatchesInTable * o.batch);
  if (memory < least) {
    throw ConfigError(fmt::format("a memory of {} bytes is too small", memory),
                      fmt::format("it is to hold {} batches of {} ids", kBatchesInTable, o.batch),
                      fmt::format("use --memory={} or more, or smaller batches", least));
  }
  if (o.table.eviction != config::Eviction::lru && o.table.eviction != config::Eviction::lfu) {
    throw ConfigError(fmt::format("eviction = {}", config::name_of(o.table.eviction)),
                      "the table is to be full and go on", "use lru or lfu");
  }
  if (memory > available_memory()) {
    throw ConfigError(fmt::format("a table of {} bytes", memory),
                      fmt::format("this machine has {} bytes available", available_memory()),
                      "use less memory");
  }
  return o;
}

}  // namespace

CapacityOptions::CapacityOptions() {
  table.name = "capacity";
  table.capacity_bytes = std::int64_t{1} << 30;
}

CapacityMeasurement& CapacityMeasurement::operator+=(const CapacityMeasurement& other) noexcept {
  rows += other.rows;
  hits += other.hits;
  evicted += other.evicted;
  lookup_seconds += other.lookup_seconds;
  update_seconds += other.update_seconds;
  return *this;
}

CapacityRun::CapacityRun(const CapacityOptions& options)
    : options_(checked(options)),
      table_(TableId{0}, options_.table, options_.seed),
      stream_(options_.ids, options_.zipf_exponent, options_.seed),
      rare_end_(options_.ids + 1) {
  if (options_.ids / 2 < capacity()) {
    throw ConfigError(fmt::format("an id space of {} ids", options_.ids),
                      fmt::format("the memory holds {} rows", capacity()),
                      "use at least twice as many ids, or less memory");
  }
  const auto values = static_cast<std::size_t>(options_.batch * options_.table.dim);
  weights_.resize(values);
  gradients_.reserve(values);
  RandomSequence random(options_.seed, RandomStream::teacher, 1);
  for (std::size_t i = 0; i < values; ++i) gradients_.push_back(unit_float(random()) - 0.5f);
}

CapacityMeasurement CapacityRun::train(std::span<const FeatureId> ids) {
  const TableStatistics before = table_.statistics();
  const double start = thread_seconds();
  table_.lookup(ids, ++step_, weights_.data());
  const double between = thread_seconds();
  table_.apply(ids, gradients_.data(), {.step = step_});
  const double end = thread_seconds();
  const TableStatistics after = table_.statistics();
  CapacityMeasurement measured;
  measured.rows = static_cast<std::int64_t>(ids.size());
  measured.hits = after.hits - before.hits;
  measured.evicted = after.evicted - before.evicted;
  measured.lookup_seconds = between - start;
  measured.update_seconds = end - between;
  return measured;
}

void CapacityRun::fill(std::int64_t rows, const Progress& progress) {
  for (std::int64_t missing; (missing = rows - table_.size()) > 0; progress()) {
    // Rare ids come as often as it takes to be admitted. The last ones have no drawn ids, so that
    // the table gets full without an eviction.
    const std::int64_t repeats = options_.table.admit_after;
    const std::int64_t drawn = missing > repeats * options_.batch ? options_.batch / 2 : 0;
    const std::int64_t rare = std::min(missing, options_.batch - drawn);
    for (std::int64_t i = 0; i < repeats; ++i) {
      train(stream_.draw(drawn, rare, rare_end_));
    }
    rare_end_ -= rare;
  }
}

CapacityMeasurement CapacityRun::step() {
  return train(stream_.draw(options_.batch));
}

CapacityMeasurement CapacityRun::measure(std::int64_t most_rows) {
  CapacityMeasurement sum;
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(options_.seconds);
  do {
    sum += step();
  } while (std::chrono::steady_clock::now() < end && table_.size() + options_.batch <= most_rows);
  return sum;
}

void run_capacity(CapacityRun& run, const std::function<void(const CapacityStage&)>& on_stage,
                  const CapacityRun::Progress& progress) {
  const std::int64_t capacity = run.capacity();
  for (const std::int64_t percent : {25, 50, 75, 100}) {
    const std::int64_t rows = capacity * percent / 100;
    run.fill(rows - capacity / 20, progress);
    const CapacityMeasurement measured = run.measure(rows);
    run.fill(rows, progress);
    on_stage({fmt::format("{} %", percent), measured, run.table().statistics()});
  }
  const CapacityMeasurement measured = run.measure(std::numeric_limits<std::int64_t>::max());
  on_stage({"evicting", measured, run.table().statistics()});
}

CapacityOptions with_parameters(CapacityOptions options, std::int64_t parameters) {
  options.ids = parameters / options.table.dim;
  return options;
}

}  // namespace satrap::store
