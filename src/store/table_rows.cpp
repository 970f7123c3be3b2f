// Rows across the boundary of a table: order, export, import.

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "store/index_visit.hpp"
#include "store/table_impl.hpp"

namespace satrap::store {
namespace {

/// Rows whose ids are fetched before they are needed.
constexpr std::size_t kAhead = 16;

/// Calls visit(row, id) for `numbers`, with the ids fetched ahead.
template <class Visit>
void visit_ids(const Rows& rows, std::span<const std::uint32_t> numbers, Visit&& visit) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i + kAhead < numbers.size()) rows.prefetch_id(numbers[i + kAhead]);
    visit(numbers[i], rows.id(numbers[i]));
  }
}

/// Calls copy(in row, in block, bytes) for each part of row i of a block but its id.
template <class Row, class Block, class Copy>
void for_each_part(Row* row, const RowLayout& layout, Block& block, std::size_t i, Copy&& copy) {
  using Byte = std::conditional_t<std::is_const_v<Block>, const std::byte, std::byte>;
  const auto part = [&](std::size_t offset, auto* values, std::size_t bytes) {
    if (bytes > 0) copy(row + offset, reinterpret_cast<Byte*>(values) + i * bytes, bytes);
  };
  part(layout.updates, block.updates.data(), layout.has_updates ? sizeof(std::uint32_t) : 0);
  part(layout.scale, block.scales.data(), layout.has_scale ? sizeof(float) : 0);
  part(layout.weights, block.weights.data(), layout.weight_bytes);
  part(layout.state, block.state.data(), layout.state_bytes);
}

}  // namespace

RowOrder Table::Impl::order_rows(std::uint32_t virtual_shards) const {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(static_cast<std::size_t>(size()));
  index_.visit_all([&](std::uint32_t row, EvictionQueue::Bin bin) {
    if (!queue_.dead(bin)) numbers.push_back(row);
  });

  // A counting sort by shard, then each shard by id.
  RowOrder order;
  order.shard_begin.assign(std::size_t{virtual_shards} + 1, 0);
  visit_ids(rows_, numbers, [&](std::uint32_t, FeatureId id) {
    ++order.shard_begin[RowPlacement::shard_of(id_, id, virtual_shards) + 1];
  });
  for (std::size_t s = 0; s < virtual_shards; ++s) order.shard_begin[s + 1] += order.shard_begin[s];
  order.rows.resize(numbers.size());
  std::vector<std::int64_t> next = order.shard_begin;
  visit_ids(rows_, numbers, [&](std::uint32_t row, FeatureId id) {
    const auto at = next[RowPlacement::shard_of(id_, id, virtual_shards)]++;
    order.rows[static_cast<std::size_t>(at)] = RowNumber{row};
  });
  std::vector<std::pair<FeatureId, RowNumber>> shard;
  for (std::size_t s = 0; s < virtual_shards; ++s) {
    const auto begin = order.rows.begin() + order.shard_begin[s];
    const auto end = order.rows.begin() + order.shard_begin[s + 1];
    shard.clear();
    std::for_each(begin, end, [&](RowNumber row) { shard.emplace_back(rows_.id(raw(row)), row); });
    std::sort(shard.begin(), shard.end());
    std::transform(shard.begin(), shard.end(), begin, [](const auto& pair) { return pair.second; });
  }
  return order;
}

void Table::Impl::export_rows(std::span<const RowNumber> rows, RowBlock& block) const {
  const std::size_t n = rows.size();
  const RowLayout& row_layout = layout();
  block.ids.resize(n);
  block.weights.resize(n * row_layout.weight_bytes);
  block.scales.resize(row_layout.has_scale ? n : 0);
  block.state.resize(n * row_layout.state_bytes);
  block.updates.resize(row_layout.has_updates ? n : 0);
  block.touched.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) Rows::prefetch(rows_.at(raw(rows[i + kAhead])), row_layout.bytes);
    block.ids[i] = rows_.id(raw(rows[i]));
    for_each_part(rows_.at(raw(rows[i])), row_layout, block, i,
                  [](const std::byte* in_row, std::byte* in_block, std::size_t bytes) {
                    std::memcpy(in_block, in_row, bytes);
                  });
  }
  index_.visit(block.ids, sizeof(FeatureId),
               [&](std::size_t i, std::uint64_t, Entry entry, std::byte*) {
                 SATRAP_ASSERT(entry);
                 block.touched[i] = queue_.key(entry.bin());
               });
}

void Table::Impl::check_sizes(const RowBlock& block) const {
  const std::size_t n = block.size();
  const auto check = [&](const char* what, std::size_t has, std::size_t per_row) {
    if (has == n * per_row) return;
    throw CheckpointError(
        fmt::format("table '{}': {} rows come with {} {}", config_.name, n, has, what),
        fmt::format("{} per row were expected", per_row),
        "the rows are of a table with another dim, storage or optimizer, or the file is damaged");
  };
  check("bytes of weights", block.weights.size(), layout().weight_bytes);
  check("scales", block.scales.size(), layout().has_scale ? 1 : 0);
  check("bytes of optimizer state", block.state.size(), layout().state_bytes);
  check("update counts", block.updates.size(), layout().has_updates ? 1 : 0);
  check("values of touched", block.touched.size(), 1);
}

bool Table::Impl::make_room_for_import(EvictionQueue::Bin bin) {
  if (queue_.dead(bin)) return false;
  if (capacity() == 0 || size() < capacity()) return true;
  if (config_.eviction == config::Eviction::none) {
    throw CheckpointError(
        fmt::format("table '{}': the checkpoint has more rows than fit", config_.name),
        fmt::format("the capacity of this shard is {} rows and eviction is off", capacity()),
        "raise the table's capacity or set eviction = lru");
  }
  // The row takes part: it may be the one to go.
  queue_.enter(bin);
  const std::int64_t died = queue_.make_room(0);
  const bool left_out = queue_.dead(bin);
  if (left_out) {
    queue_.reclaimed(bin);
  } else {
    queue_.leave(bin);
  }
  statistics_.evicted += died - (left_out ? 1 : 0);  // import_row counts those left out
  return !left_out;
}

void Table::Impl::import_row(const RowBlock& block, std::size_t i, std::uint64_t hash,
                             Entry entry) {
  // Whatever row the id has makes way.
  if (live(entry)) {
    queue_.leave(entry.bin());
    queue_.died();
    entry.bin() = 0;
  }
  const EvictionQueue::Bin bin = queue_.bin_of(block.touched[i]);
  if (!make_room_for_import(bin)) {
    ++statistics_.evicted;
    return;
  }
  const std::uint32_t row = new_row(block.ids[i], hash, entry, bin);
  queue_.enter(bin);
  for_each_part(rows_.at(row), layout(), block, i,
                [](std::byte* in_row, const std::byte* in_block, std::size_t bytes) {
                  std::memcpy(in_row, in_block, bytes);
                });
}

void Table::Impl::import_rows(const RowBlock& block) {
  check_sizes(block);
  queue_.admit(block.touched, sweep());
  index_.visit(block.ids, layout().bytes,
               [&](std::size_t i, std::uint64_t hash, Entry entry, std::byte*) {
                 import_row(block, i, hash, entry);
               });
}

}  // namespace satrap::store
