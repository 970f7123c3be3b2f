#include <algorithm>
#include <iterator>

#include "figure.hpp"
#include "figures.hpp"
#include "store/capacity/capacity_run.hpp"

namespace satrap::bench {
namespace {

store::CapacityOptions options_of(const Options& o, std::int64_t parameters) {
  store::CapacityOptions options;
  options.table.capacity_bytes = std::max<std::int64_t>(o.bytes / 2, 32 << 20);
  return with_parameters(options, parameters);
}

/// A full table that trains on.
struct Point {
  Point(const Options& o, std::int64_t parameters) : run(options_of(o, parameters)) {
    run.fill(run.capacity(), [] {});
  }

  store::CapacityRun run;
  store::CapacityMeasurement sum;
  std::vector<double> rates;

  void step() {
    const store::CapacityMeasurement measured = run.step();
    rates.push_back(measured.rows_per_second());
    sum += measured;
  }
  double seconds() const { return sum.lookup_seconds + sum.update_seconds; }
};

}  // namespace

void compare_id_spaces(const Options& o) {
  Point first(o, *std::begin(store::kSweepParameters));
  Point last(o, *std::rbegin(store::kSweepParameters));
  while (first.seconds() + last.seconds() < o.seconds) {
    first.step();
    last.step();
  }
  fmt::print("# evicting tables of {} bytes; hit rates {:.3f} and {:.3f}\n",
             first.run.table().config().capacity_bytes, last.sum.hit_rate(), first.sum.hit_rate());
  print({"store-100T-parameters", median(last.rates), "rows/s", "store-6.25T-parameters",
         median(first.rates), 0.95});
}

}  // namespace satrap::bench
