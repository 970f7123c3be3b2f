#pragma once

#include <cstdint>

#include "config/config.hpp"
#include "store/row_layout.hpp"

namespace satrap::store {

/// Returns `config`. Throws ConfigError for a value that no table can have, besides those that
/// RowOps refuses.
const config::TableConfig& checked(const config::TableConfig& config);

/// Bytes of a row, its share of the index included, and of an admission window that follows the
/// capacity: an upper bound for tables of many rows.
std::int64_t bytes_per_row(const config::TableConfig& config, const RowLayout& layout) noexcept;

/// The least capacity_bytes that is enough for `rows` rows, at least 1, everything counted.
std::int64_t bytes_for(const config::TableConfig& config, const RowLayout& layout,
                       std::int64_t rows) noexcept;

/// `capacity`, or the rows for which capacity_bytes is enough, everything counted; 0: no limit.
std::int64_t capacity_in_rows(const config::TableConfig& config, const RowLayout& layout) noexcept;

/// Ids whose appearances are counted in a table of `capacity` rows, if it counts.
std::int64_t admission_window(const config::TableConfig& config, std::int64_t capacity) noexcept;

/// Bytes of an admission window that bytes_per_row() has not in it.
std::int64_t admission_bytes(const config::TableConfig& config) noexcept;

}  // namespace satrap::store
