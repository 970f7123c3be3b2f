#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "store/table.hpp"

namespace satrap::store {

/// A small table of one optimizer.
inline config::TableConfig table_config(
    std::int64_t dim, config::Optimizer optimizer = config::Optimizer::rowwise_adagrad,
    std::int64_t capacity = 0) {
  config::TableConfig config;
  config.name = "items";
  config.dim = dim;
  config.optimizer = optimizer;
  config.capacity = capacity;
  config.lr = 0.1;
  return config;
}

inline std::vector<FeatureId> feature_ids(std::span<const std::uint64_t> numbers) {
  std::vector<FeatureId> ids;
  for (const std::uint64_t number : numbers) ids.push_back(FeatureId{number});
  return ids;
}
inline std::vector<FeatureId> feature_ids(std::initializer_list<std::uint64_t> numbers) {
  return feature_ids(std::span(numbers.begin(), numbers.size()));
}
/// first, first + 1, ... n of them.
inline std::vector<FeatureId> id_range(std::uint64_t first, std::size_t n) {
  std::vector<FeatureId> ids(n);
  for (std::size_t i = 0; i < n; ++i) ids[i] = FeatureId{first + i};
  return ids;
}

inline std::vector<float> lookup(Table& table, std::span<const FeatureId> ids, Step step = 0) {
  std::vector<float> out(ids.size() * static_cast<std::size_t>(table.dim()), -77.0f);
  table.lookup(ids, step, out.data());
  return out;
}

inline std::vector<float> peek(const Table& table, std::span<const FeatureId> ids) {
  std::vector<float> out(ids.size() * static_cast<std::size_t>(table.dim()), -77.0f);
  table.peek(ids, out.data());
  return out;
}

/// Values in [-1, 1).
inline std::vector<float> random_floats(RandomSequence& random, std::size_t n) {
  std::vector<float> values(n);
  for (float& value : values) value = 2.0f * unit_float(random()) - 1.0f;
  return values;
}

/// Numbers of a column of a RowBlock, and back.
template <class T = float>
std::vector<T> numbers(const std::vector<std::byte>& column) {
  std::vector<T> values(column.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), column.data(), values.size() * sizeof(T));
  return values;
}
template <class T>
std::vector<std::byte> column(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// All rows in checkpoint order.
inline RowBlock export_all(const Table& table, std::uint32_t virtual_shards = 16) {
  RowBlock block;
  table.export_rows(table.order_rows(virtual_shards).rows, block);
  return block;
}

inline void expect_same_rows(const RowBlock& a, const RowBlock& b) {
  ASSERT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.scales, b.scales);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.updates, b.updates);
  EXPECT_EQ(a.touched, b.touched);
}

}  // namespace satrap::store
