#pragma once

#include <cstdint>

#include "config/config.hpp"
#include "store/row_layout.hpp"

namespace satrap::store {

/// Returns `config`. Throws ConfigError for a value that no table can have, besides those that
/// RowOps refuses.
const config::TableConfig& checked(const config::TableConfig& config);

/// Bytes of a row, its share of index and admission included: an upper bound for tables of many
/// rows.
std::int64_t bytes_per_row(const config::TableConfig& config, const RowLayout& layout) noexcept;

/// `capacity`, or the rows for which capacity_bytes is enough, everything counted; 0: no limit.
std::int64_t capacity_in_rows(const config::TableConfig& config, const RowLayout& layout) noexcept;

/// Ids whose appearances are counted in a table of `capacity` rows.
std::int64_t admission_window(const config::TableConfig& config, std::int64_t capacity) noexcept;

}  // namespace satrap::store
