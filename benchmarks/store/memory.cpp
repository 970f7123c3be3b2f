#include <string>

#include "figure.hpp"
#include "figures.hpp"
#include "workload.hpp"

namespace satrap::bench {
namespace {

/// Of a full table of about `bytes`, everything counted.
double bytes_per_row(const config::TableConfig& config, std::int64_t bytes) {
  store::Table table(TableId{0}, config, 1);
  fill(table, rows_of(config, bytes));
  const store::TableStatistics s = table.statistics();
  return static_cast<double>(s.bytes()) / static_cast<double>(s.rows);
}

void measure_overhead(const Options& o) {
  const auto config = table_config(o.dim);
  const store::RowLayout layout = store::Table(TableId{0}, config, 1).layout();
  const auto values = static_cast<double>(layout.weight_bytes + layout.state_bytes);
  print({"store-bytes-per-row", bytes_per_row(config, o.bytes), "bytes", "weights-and-state",
         values, (values + 21.6) / values});
}

void measure_parameters(const Options& o, std::int64_t dim, config::Storage storage, double most) {
  const double bytes = bytes_per_row(table_config(dim, storage), o.bytes);
  print({fmt::format("store-bytes-per-parameter-{}-dim-{}", config::name_of(storage), dim),
         bytes / static_cast<double>(dim), "bytes", "allowed", most, 1});
}

}  // namespace

void measure_memory(const Options& options) {
  measure_overhead(options);
  measure_parameters(options, 128, config::Storage::fp16, 2.2);
  measure_parameters(options, 128, config::Storage::int8, 1.25);
  measure_parameters(options, 16, config::Storage::fp32, 5.7);
}

}  // namespace satrap::bench
