#include "checkpoint/rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/contents.hpp"

namespace satrap::checkpoint {

namespace {

/// Keeps rows [first, end) of a block.
void keep(const std::vector<Column>& columns, store::RowBlock& block, std::int64_t first,
          std::int64_t end) {
  for (const Column& column : columns) {
    const std::size_t size = column.entry_bytes();
    const auto kept = column.bytes(block).subspan(static_cast<std::size_t>(first) * size,
                                                  static_cast<std::size_t>(end - first) * size);
    std::ranges::copy(kept, column.bytes(block).begin());
    column.resize(block, kept.size());
  }
}

}  // namespace

RowReader::RowReader(std::filesystem::path checkpoint, std::string file, const h5::Group& group)
    : checkpoint_(std::move(checkpoint)),
      file_(std::move(file)),
      layout_(read_layout(group)),
      columns_(columns_of(layout_)),
      shard_begin_(group.dataset("shard_begin").read<std::int64_t>()),
      checksums_(group.dataset("checksums").read<std::uint64_t>()),
      end_(layout_.rows) {
  for (const Column& column : columns_) datasets_.push_back(group.dataset(column.name));
  const bool sound =
      !shard_begin_.empty() && shard_begin_.front() == 0 && shard_begin_.back() == layout_.rows &&
      std::is_sorted(shard_begin_.begin(), shard_begin_.end()) &&
      checksums_.size() == static_cast<std::size_t>(layout_.blocks()) * columns_.size();
  if (!sound) {
    damaged(checkpoint_, file_, fmt::format("the sizes of table {} contradict", layout_.name));
  }
}

void RowReader::select_shards(std::int64_t first, std::int64_t end) {
  if (first < 0 || end < first || end > shards()) {
    damaged(checkpoint_, file_,
            fmt::format("table {} has {} virtual shards there", layout_.name, shards()));
  }
  position_ = shard_begin_[static_cast<std::size_t>(first)];
  end_ = shard_begin_[static_cast<std::size_t>(end)];
}

bool RowReader::next(store::RowBlock& block) {
  if (position_ == end_) return false;
  const std::int64_t index = position_ / layout_.block_rows;
  read_checked(index, block);
  const std::int64_t block_first = index * layout_.block_rows;
  const std::int64_t block_end = block_first + static_cast<std::int64_t>(block.size());
  const std::int64_t first = position_ - block_first;
  const std::int64_t end = std::min(end_, block_end) - block_first;
  keep(columns_, block, first, end);
  position_ = block_first + end;
  return true;
}

/// Blocks are checked as a whole, also where the selection begins or ends within one.
void RowReader::read_checked(std::int64_t index, store::RowBlock& block) {
  const std::int64_t first = index * layout_.block_rows;
  const std::int64_t count = std::min(layout_.block_rows, layout_.rows - first);
  block.scales.clear();  // columns that not every table has
  block.updates.clear();
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    columns_[c].resize(block, static_cast<std::size_t>(count) * columns_[c].entry_bytes());
    const auto bytes = columns_[c].bytes(block);
    datasets_[c].read_rows(first, count, bytes);
    if (block_checksum(bytes) !=
        checksums_[static_cast<std::size_t>(index) * columns_.size() + c]) {
      damaged(checkpoint_, file_,
              fmt::format("a checksum of table {} differs in rows {} to {}", layout_.name, first,
                          first + count));
    }
  }
}

}  // namespace satrap::checkpoint
