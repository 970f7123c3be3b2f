#include "store/capacity/report.hpp"

#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <ostream>

#include "core/error.hpp"
#include "core/text.hpp"
#include "store/capacity/process_memory.hpp"

namespace satrap::store {
namespace {

constexpr std::string_view kUnits = "KMGT";

double per(std::int64_t value, std::int64_t count) {
  return static_cast<double>(value) / static_cast<double>(count);
}

/// Says every few seconds how far a fill is.
class FillProgress {
 public:
  FillProgress(const CapacityRun& run, std::ostream& out) : run_(run), out_(out) {}

  void operator()() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + kInterval;
    const std::int64_t rows = run_.table().size();
    const double rate = per(rows - last_rows_, kInterval.count());
    last_rows_ = rows;
    out_ << fmt::format("filling: {:.0f} %, {} rows, {:.2g} rows/s\n",
                        100 * per(rows, run_.capacity()), grouped(rows), rate)
         << std::flush;
  }

 private:
  static constexpr std::chrono::seconds kInterval{5};

  const CapacityRun& run_;
  std::ostream& out_;
  std::int64_t last_rows_ = 0;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kInterval;
};

std::string describe(const CapacityOptions& o, const CapacityRun& run) {
  const Table& table = run.table();
  return fmt::format(
      "table   {} bytes hold at most {} rows of dim {}: {}, {}, {} {} of state per row; eviction "
      "{}, admitted at appearance {}\n"
      "stream  Zipf {} over {} ids, {} drawn per step; filled beside it with ids not seen before\n",
      grouped(o.table.capacity_bytes), grouped(run.capacity()), o.table.dim,
      config::name_of(o.table.storage), config::name_of(o.table.optimizer), table.state_values(),
      config::name_of(table.state_storage()), config::name_of(o.table.eviction),
      o.table.admit_after, o.zipf_exponent, grouped(o.ids), grouped(o.batch));
}

std::string text_of(const CapacityStage& stage, const Table& table) {
  const TableStatistics& s = stage.table;
  const std::int64_t parameters = s.rows * table.dim();
  return fmt::format("{:>9} {:>15} {:>18} {:>11.3f} {:>18} {:>8.1f} % {:>13} {:>12.0f} {:>12.0f}\n",
                     stage.name, grouped(s.rows), grouped(parameters), per(s.bytes(), parameters),
                     grouped(s.rows * table.state_values()), 100 * stage.measured.hit_rate(),
                     grouped(stage.measured.evicted), stage.measured.lookups_per_second(),
                     stage.measured.updates_per_second());
}

/// All counters together, so that nothing that happened to an id is left out.
std::string totals(const TableStatistics& s) {
  return fmt::format(
      "in all  {} ids looked up: {} hits, {} inserted, {} not admitted; {} rows evicted; {} "
      "gradients applied, {} dropped\n",
      grouped(s.hits + s.inserted + s.not_admitted), grouped(s.hits), grouped(s.inserted),
      grouped(s.not_admitted), grouped(s.evicted), grouped(s.gradients_applied),
      grouped(s.gradients_dropped));
}

std::string compare_memory(const TableStatistics& s, std::int64_t resident_before) {
  const ProcessMemory memory = process_memory();
  const std::int64_t grown = memory.resident - resident_before;
  return fmt::format(
      "memory  store: {} bytes (rows {}, index {}, admission {}, other {})\n"
      "        process: {} bytes resident, {} of them since before the table, {:.3f} of what the "
      "store counts; peak {}\n",
      grouped(s.bytes()), grouped(s.row_bytes), grouped(s.index_bytes), grouped(s.admission_bytes),
      grouped(s.other_bytes), grouped(memory.resident), grouped(grown), per(grown, s.bytes()),
      grouped(memory.peak));
}

}  // namespace

std::int64_t parse_amount(std::string_view option, std::string_view text, std::int64_t base) {
  const auto refuse = [&](std::string_view problem) {
    throw ConfigError(fmt::format("command line: {} {}", option, text), problem,
                      "give a whole number such as 4096, 8G or 1e12");
  };
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  std::string_view unit(stop, static_cast<std::size_t>(end - stop));
  if (!unit.empty()) {
    const auto power = kUnits.find(unit.front());
    if (unit.size() > 1 || power == kUnits.npos) refuse("it is not a number");
    value *= std::pow(static_cast<double>(base), static_cast<double>(power + 1));
  }
  if (error != std::errc() || std::isnan(value)) refuse("it is not a number");
  if (value < 0 || value >= 0x1p63) refuse("it is out of range");
  if (value != std::floor(value)) refuse("it is not whole");
  return static_cast<std::int64_t>(value);
}

void report_capacity(const CapacityOptions& options, std::ostream& out, std::ostream& progress) {
  const std::int64_t resident_before = process_memory().resident;
  CapacityRun run(options);
  out << describe(options, run);
  out << fmt::format("\n{:>9} {:>15} {:>18} {:>11} {:>18} {:>10} {:>13} {:>12} {:>12}\n", "full",
                     "rows", "parameters", "bytes/param", "optimizer state", "hit rate", "evicted",
                     "lookups/s", "updates/s");
  const auto print = [&](const CapacityStage& stage) {
    out << text_of(stage, run.table()) << std::flush;
  };
  run_capacity(run, print, FillProgress(run, progress));
  const TableStatistics statistics = run.table().statistics();
  out << "\n" << totals(statistics) << compare_memory(statistics, resident_before);
}

void report_sweep(const CapacityOptions& options, std::ostream& out, std::ostream& progress) {
  out << fmt::format("{:>11} {:>21} {:>15} {:>10} {:>12} {:>12} {:>12}\n", "parameters", "ids",
                     "rows", "hit rate", "lookups/s", "updates/s", "rows/s");
  double first = 0;
  double last = 0;
  for (const std::int64_t parameters : kSweepParameters) {
    const CapacityOptions point = with_parameters(options, parameters);
    CapacityRun run(point);
    run.fill(run.capacity(), FillProgress(run, progress));
    const CapacityMeasurement m = run.measure(std::numeric_limits<std::int64_t>::max());
    last = m.rows_per_second();
    if (first == 0) first = last;
    out << fmt::format("{:>9} T {:>21} {:>15} {:>8.1f} % {:>12.0f} {:>12.0f} {:>12.0f}\n",
                       static_cast<double>(parameters) / 1e12, grouped(point.ids),
                       grouped(run.table().size()), 100 * m.hit_rate(), m.lookups_per_second(),
                       m.updates_per_second(), last)
        << std::flush;
  }
  out << fmt::format("rows/s at the last against the first: {:.3f}\n", last / first);
}

}  // namespace satrap::store
