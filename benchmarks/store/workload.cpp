#include "workload.hpp"

#include <algorithm>

#include "core/hash.hpp"

namespace satrap::bench {

config::TableConfig table_config(std::int64_t dim, config::Storage storage,
                                 config::Optimizer optimizer) {
  config::TableConfig config;
  config.name = "bench";
  config.dim = dim;
  config.storage = storage;
  config.optimizer = optimizer;
  return config;
}

std::int64_t rows_of(const config::TableConfig& config, std::int64_t bytes) {
  return std::max<std::int64_t>(bytes / store::Table::bytes_per_row(config), kBatch);
}

void fill(store::Table& table, std::int64_t rows) {
  std::vector<float> values(kBatch * static_cast<std::size_t>(table.dim()));
  std::vector<FeatureId> batch;
  for (std::int64_t id = 0; id < rows; ++id) {
    batch.push_back(FeatureId{static_cast<std::uint64_t>(id)});
    if (batch.size() < kBatch && id + 1 < rows) continue;
    table.lookup(batch, 1, values.data());
    batch.clear();
  }
}

Batches::Batches(std::int64_t rows, std::int64_t dim)
    : ids(kBatch),
      places(kBatch),
      values(kBatch * static_cast<std::size_t>(dim)),
      gradients(values.size()),
      part_(static_cast<std::uint64_t>(rows) / kBatch) {
  for (float& gradient : gradients) gradient = unit_float(random_()) - 0.5f;
}

void Batches::draw() {
  // Part by part in random order: distinct and uniform.
  for (std::size_t i = 0; i < kBatch; ++i) {
    ids[i] = FeatureId{i * part_ + random_.below(part_)};
    places[i] = static_cast<std::uint32_t>(i * part_ + random_.below(part_));
  }
  for (std::size_t i = kBatch; i > 1; --i) {
    std::swap(ids[i - 1], ids[random_.below(i)]);
    std::swap(places[i - 1], places[random_.below(i)]);
  }
}

void Batches::draw_new_ids() {
  // Bijective, and far from the small numbers of fill.
  for (FeatureId& id : ids) id = FeatureId{mix(++next_new_)};
}

}  // namespace satrap::bench
