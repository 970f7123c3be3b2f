#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.hpp"
#include "unit/store/one_row.hpp"
#include "unit/store/support.hpp"

namespace satrap::store {
namespace {

constexpr std::size_t kRows = 40;
constexpr Step kSteps = 5;

std::vector<float> gradient_of(std::uint64_t id, Step step, std::int64_t dim) {
  return random_floats(id * 1000 + static_cast<std::uint64_t>(step), static_cast<std::size_t>(dim));
}

/// Rows of ids [0, kRows) after kSteps through a table; batch b of a step holds the ids that are b
/// modulo `batches`, in reverse order, among ids that have no row.
RowBlock train(const config::TableConfig& config, std::size_t batches) {
  Table table(TableId{1}, config, 5);
  lookup(table, id_range(0, kRows));
  for (Step step = 1; step <= kSteps; ++step) {
    for (std::size_t b = 0; b < batches; ++b) {
      std::vector<FeatureId> ids;
      std::vector<float> gradients;
      for (std::size_t i = kRows; i-- > 0;) {
        if (i % batches != b) continue;
        for (const std::size_t id : {i + 1000, i}) {
          ids.push_back(FeatureId{id});
          const auto gradient = gradient_of(id, step, config.dim);
          gradients.insert(gradients.end(), gradient.begin(), gradient.end());
        }
      }
      table.apply(ids, gradients.data(), {.step = step});
    }
  }
  return export_all(table, 1);
}

/// The bytes of row `i` of a column of the block.
std::vector<std::byte> part(const std::vector<std::byte>& column, std::size_t i) {
  const std::size_t size = column.size() / kRows;
  const auto begin = column.begin() + static_cast<std::ptrdiff_t>(i * size);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

// Every gradient reaches the row of its id, whatever stands beside it, and does there what it does
// to a row alone.
TEST(TableUpdate, RowsGoAsTheyWouldAlone) {
  for (const auto storage : {config::Storage::fp32, config::Storage::fp16, config::Storage::bf16,
                             config::Storage::int8}) {
    for (const std::int64_t dim : {1, 12, 65}) {
      for (auto config : optimizer_configs(dim)) {
        config.storage = storage;
        SCOPED_TRACE(fmt::format("{} dim {} {}", name_of(storage), dim, name_of(config.optimizer)));
        const RowBlock one = train(config, 1);
        const RowBlock many = train(config, 7);
        ASSERT_EQ(one.weights, many.weights);
        ASSERT_EQ(one.state, many.state);
        ASSERT_EQ(one.ids, id_range(0, kRows));
        for (std::size_t i = 0; i < kRows; ++i) {
          OneRow row(config, FeatureId{i});
          for (Step step = 1; step <= kSteps; ++step) {
            row.update(gradient_of(i, step, dim).data(), step);
          }
          ASSERT_EQ(part(one.weights, i), row.stored_weights());
          ASSERT_EQ(part(one.state, i), row.stored_state());
        }
      }
    }
  }
}

}  // namespace
}  // namespace satrap::store
