// The store against what the memory allows, measured in turn in the same run.
//
//   bench-store [--bytes=N] [--dim=N] [--seconds=S]
//
// N bytes of table (1 GiB by default) and as much of plain rows beside it.

#include <fmt/core.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "figure.hpp"
#include "workload.hpp"

namespace satrap::bench {
namespace {

struct Options {
  std::int64_t bytes = std::int64_t{1} << 30;
  std::int64_t dim = 64;
  double seconds = 2;  ///< Per figure.
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto equals = argument.find('=');
    const std::string_view key = argument.substr(0, equals);
    char* end = nullptr;
    const double value =
        equals == std::string_view::npos ? 0 : std::strtod(argv[i] + equals + 1, &end);
    const bool known = key == "--bytes" || key == "--dim" || key == "--seconds";
    if (!known || end == nullptr || *end != '\0' || !(value > 0)) {
      throw ConfigError(fmt::format("'{}' is not understood", argument), {},
                        "use --bytes=N, --dim=N or --seconds=S");
    }
    if (key == "--bytes") options.bytes = static_cast<std::int64_t>(value);
    if (key == "--dim") options.dim = static_cast<std::int64_t>(value);
    if (key == "--seconds") options.seconds = value;
  }
  return options;
}

/// Seconds of this thread on a core: what else the machine runs counts less than with a wall clock.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Rows per second of batches: the median over rounds.
class Rate {
 public:
  template <class Run>
  void time(Run&& run) {
    const double begin = thread_seconds();
    run();
    const double passed = thread_seconds() - begin;
    total_ += passed;
    rates_.push_back(static_cast<double>(kBatch) / passed);
  }
  double median() {
    const auto middle = rates_.begin() + static_cast<std::ptrdiff_t>(rates_.size() / 2);
    std::nth_element(rates_.begin(), middle, rates_.end());
    return *middle;
  }
  /// Rare long batches included.
  double mean() const { return static_cast<double>(kBatch * rates_.size()) / total_; }
  double total() const { return total_; }

 private:
  std::vector<double> rates_;
  double total_ = 0;
};

/// Batches of figure and limit in turn; other rows for each batch.
template <class Value, class Limit>
void compare(Workload& workload, double seconds, std::string name, Value&& figure,
             std::string limit_name, Limit&& limit, double target) {
  Rate value, limit_value;
  for (int warm_up = 10; value.total() + limit_value.total() < seconds;) {
    workload.draw();
    if (warm_up-- > 0) {
      figure();
      limit();
    } else {
      value.time(figure);
      limit_value.time(limit);
    }
  }
  print({name, value.median(), "rows/s", limit_name, limit_value.median(), target});
}

/// Batches of ids that no table has seen, beside writes to `limit` at the places of `next_places`.
/// Means, because splits of the index and evictions come in lumps.
template <class NextPlaces>
void compare_inserts(Workload& w, double seconds, std::string name, store::Table& table,
                     std::uint64_t next_id, std::int64_t most, std::string limit_name,
                     PlainRows& limit, NextPlaces&& next_places, double target) {
  Rate value, limit_value;
  for (std::int64_t n = 0; n + static_cast<std::int64_t>(kBatch) <= most; n += kBatch) {
    if (value.total() > seconds) break;
    next_places();
    for (FeatureId& id : w.ids) id = FeatureId{mix(next_id++)};
    value.time([&] { table.lookup(w.ids, store::Missing::insert, w.values.data()); });
    limit_value.time([&] { limit.write(w.places, w.gradients.data()); });
  }
  print(
      {std::move(name), value.mean(), "rows/s", std::move(limit_name), limit_value.mean(), target});
}

/// A table that grows, beside memory that is as new: both wait for the system's pages.
void compare_growth(Workload& w, double seconds) {
  store::Table growing(TableId{1}, w.config, 1);
  const std::int64_t rows = w.plain.rows() / 2;
  PlainRows fresh(rows, w.plain.stride(), w.config.dim, false);
  std::uint32_t next = 0;
  compare_inserts(
      w, seconds, "store-insert", growing, 0, rows, "plain-write-new-memory", fresh,
      [&] { std::generate(w.places.begin(), w.places.end(), [&] { return next++; }); }, 0.4);
}

/// A full table, an eighth of the memory large, beside writes at random.
void compare_evictions(Workload& w, double seconds) {
  const auto capacity = std::max<std::int64_t>(w.plain.rows() / 8, 2 * kBatch);
  store::Table full(TableId{2}, table_config(w.config.dim, w.config.optimizer, capacity), 1);
  std::uint64_t next = 0;
  while (full.statistics().evicted == 0) {
    for (FeatureId& id : w.ids) id = FeatureId{mix(next++)};
    full.lookup(w.ids, store::Missing::insert, w.values.data());
  }
  compare_inserts(
      w, seconds, "store-insert-and-evict", full, next, 64 * capacity, "plain-write", w.plain,
      [&] { w.draw(); }, 0.4);
}

void run(const Options& options) {
  const auto config = table_config(options.dim, config::Optimizer::rowwise_adagrad);
  const std::int64_t rows = options.bytes / store::Table::bytes_per_row(config);
  Workload w(options.dim, std::max<std::int64_t>(rows, kBatch), config.optimizer);
  const auto statistics = w.table.statistics();
  const double values = static_cast<double>(options.dim + w.table.state_floats()) * sizeof(float);
  const double bytes = static_cast<double>(statistics.bytes) / static_cast<double>(statistics.rows);
  fmt::print("# {} rows of dim {}, row-wise Adagrad, {:.1f} bytes per row; batches of {}\n",
             statistics.rows, options.dim, bytes, kBatch);
  print({"store-bytes-per-row", bytes, "bytes", "weights-and-state", values,
         (values + 21.6) / values});

  const auto gather = [&] { w.plain.gather(w.places, w.values.data()); };
  compare(
      w, options.seconds, "store-lookup",
      [&] { w.table.lookup(w.ids, store::Missing::insert, w.values.data()); }, "plain-gather",
      gather, 0.7);
  compare(
      w, options.seconds, "store-evaluation-lookup",
      [&] { w.table.lookup(w.ids, store::Missing::zeros, w.values.data()); }, "plain-gather",
      gather, 0.7);
  compare(
      w, options.seconds, "store-update", [&] { w.table.apply(w.ids, w.gradients.data(), {}); },
      "plain-read-write", [&] { w.plain.add(w.places, w.gradients.data()); }, 0.7);

  compare_growth(w, options.seconds);
  compare_evictions(w, options.seconds);
}

}  // namespace
}  // namespace satrap::bench

int main(int argc, char** argv) {
  try {
    satrap::bench::run(satrap::bench::parse(argc, argv));
  } catch (const satrap::Error& error) {
    fmt::print(stderr, "bench-store: {}\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
