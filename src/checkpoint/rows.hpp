#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/table_layout.hpp"
#include "store/table.hpp"

namespace satrap::checkpoint {

/// Reads the rows of some virtual shards of one table in one file, block by block, and checks
/// them. Throws CheckpointError, naming the file, if they are not what was written.
class RowReader {
 public:
  /// `group` is the table's, in a file whose header has been checked. All its rows are selected.
  RowReader(std::filesystem::path checkpoint, std::string file, const h5::Group& group);

  const TableLayout& layout() const noexcept { return layout_; }
  std::int64_t shards() const noexcept {
    return static_cast<std::int64_t>(shard_begin_.size()) - 1;
  }

  /// Selects the rows of shards [first, end), counted from the file's first one.
  void select_shards(std::int64_t first, std::int64_t end);

  /// The next rows of the selection, replacing what `block` held. False: there are none left.
  bool next(store::RowBlock& block);

 private:
  void read_checked(std::int64_t index, store::RowBlock& block);

  std::filesystem::path checkpoint_;
  std::string file_;
  TableLayout layout_;
  std::vector<Column> columns_;
  std::vector<h5::Dataset> datasets_;      ///< [columns]
  std::vector<std::int64_t> shard_begin_;  ///< [shards + 1]
  std::vector<std::uint64_t> checksums_;   ///< [blocks, columns]
  std::int64_t position_ = 0;              ///< The next row of the selection,
  std::int64_t end_ = 0;                   ///< and the row behind its last one.
};

}  // namespace satrap::checkpoint
