#include "checkpoint/rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/contents.hpp"

namespace satrap::checkpoint {

namespace {

/// Keeps elements [first, end) of the rows' `width` values each.
template <class T>
void keep(std::vector<T>& values, std::int64_t width, std::int64_t first, std::int64_t end) {
  values.erase(values.begin() + end * width, values.end());
  values.erase(values.begin(), values.begin() + first * width);
}

}  // namespace

RowReader::RowReader(std::filesystem::path checkpoint, std::string file, const h5::Group& group)
    : checkpoint_(std::move(checkpoint)),
      file_(std::move(file)),
      layout_(read_layout(group)),
      columns_(Columns::open(group)),
      shard_begin_(group.dataset("shard_begin").read<std::int64_t>()),
      checksums_(group.dataset("checksums").read<std::uint64_t>()),
      end_(layout_.rows) {
  const bool sound = !shard_begin_.empty() && shard_begin_.front() == 0 &&
                     shard_begin_.back() == layout_.rows &&
                     std::is_sorted(shard_begin_.begin(), shard_begin_.end()) &&
                     checksums_.size() == static_cast<std::size_t>(layout_.blocks()) * kColumns;
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
  keep(block.ids, 1, first, end);
  keep(block.weights, layout_.dim, first, end);
  keep(block.state, layout_.state_floats, first, end);
  keep(block.updates, 1, first, end);
  keep(block.touched, 1, first, end);
  position_ = block_first + end;
  return true;
}

/// Blocks are checked as a whole, also where the selection begins or ends within one.
void RowReader::read_checked(std::int64_t index, store::RowBlock& block) {
  const std::int64_t first = index * layout_.block_rows;
  const std::int64_t count = std::min(layout_.block_rows, layout_.rows - first);
  resize(block, layout_, count);
  auto expected = checksums_.begin() + index * static_cast<std::int64_t>(kColumns);
  for_each_column(columns_, block, [&]<class T>(h5::Dataset& column, std::span<T> values) {
    column.read_rows(first, count, values);
    if (block_checksum(values) != *expected++) {
      damaged(checkpoint_, file_,
              fmt::format("a checksum of table {} differs in rows {} to {}", layout_.name, first,
                          first + count));
    }
  });
}

}  // namespace satrap::checkpoint
