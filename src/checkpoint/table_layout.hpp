#pragma once

// What a table is in the format: attributes of its group, and the datasets of its rows.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "core/types.hpp"
#include "h5/file.hpp"
#include "store/table.hpp"

namespace satrap::checkpoint {

/// The dataset of the appearances counted of ids without rows (store::Table::save_admission), where
/// a table counts them.
inline constexpr const char* kAdmission = "admission";

/// The attributes of a table's group.
struct TableLayout {
  std::string name;
  std::int64_t table = 0;  ///< TableId: part of the hash that gives a row its virtual shard.
  std::string optimizer;
  std::int64_t dim = 0;
  config::Storage storage{};
  std::int64_t state_values = 0;  ///< Numbers of optimizer state per row,
  config::Storage state_storage{};
  bool has_updates = false;    ///< and whether its updates are counted.
  std::int64_t hash_rows = 0;  ///< As in the config: they say which rows an id is.
  std::int64_t hash_buckets = 0;
  std::int64_t rows = 0;
  std::int64_t block_rows = 0;  ///< Rows per checksum.

  std::int64_t blocks() const noexcept { return (rows + block_rows - 1) / block_rows; }

  friend bool operator==(const TableLayout&, const TableLayout&) = default;
};

TableLayout layout_of(const store::Table& table, TableId id);
void write_layout(h5::Group& group, const TableLayout& layout);
TableLayout read_layout(const h5::Group& group);

/// One of the datasets that hold a table's rows, with an entry per row, and its part of a RowBlock.
struct Column {
  const char* name;
  h5::Number number;
  h5::Shape entry;  ///< The shape of an entry; empty: a number.
  std::span<std::byte> (*bytes)(store::RowBlock& block);
  void (*resize)(store::RowBlock& block, std::size_t bytes);

  std::size_t entry_bytes() const noexcept {
    return static_cast<std::size_t>(h5::element_count(entry)) * h5::bytes_of(number);
  }
  /// Of the dataset.
  h5::Shape shape(std::int64_t rows) const;
};

/// The columns of such a table, in the order of the format.
std::vector<Column> columns_of(const TableLayout& layout);

/// The checksum of one column of one block: XXH3 of its bytes in the file.
std::uint64_t block_checksum(std::span<const std::byte> bytes);

}  // namespace satrap::checkpoint
