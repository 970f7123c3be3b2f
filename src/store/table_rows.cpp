// Rows across the boundary of a table: order, export, import.

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/hash.hpp"
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

}  // namespace

RowOrder Table::Impl::order_rows(std::uint32_t virtual_shards) const {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(static_cast<std::size_t>(size()));
  index_.visit_all([&](std::uint32_t row, Recency::Bin bin) {
    if (!recency_.dead(bin)) numbers.push_back(row);
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
  const auto floats = static_cast<std::size_t>(state_floats());
  block.ids.resize(n);
  block.weights.resize(n * dim());
  block.state.resize(n * floats);
  block.updates.resize(n);
  block.touched.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) rows_.prefetch(raw(rows[i + kAhead]), rows_.layout().bytes);
    const std::uint32_t row = raw(rows[i]);
    block.ids[i] = rows_.id(row);
    std::copy_n(rows_.weights(row), dim(), &block.weights[i * dim()]);
    if (floats > 0) std::copy_n(rows_.state(row), floats, &block.state[i * floats]);
    block.updates[i] = rows_.updates(row);
  }
  index_.visit(block.ids, sizeof(FeatureId), [&](std::size_t i, std::uint64_t, Entry entry) {
    SATRAP_ASSERT(entry);
    block.touched[i] = recency_.stamp(entry.bin());
  });
}

void Table::Impl::check_sizes(const RowBlock& block) const {
  const std::size_t n = block.size();
  const auto check = [&](const char* what, std::size_t has, std::size_t per_row) {
    if (has == n * per_row) return;
    throw CheckpointError(
        fmt::format("table '{}': {} rows come with {} values of {}", config_.name, n, has, what),
        fmt::format("{} per row were expected", per_row),
        "the rows are of a table with another dim or optimizer, or the file is damaged");
  };
  check("weights", block.weights.size(), dim());
  check("optimizer state", block.state.size(), static_cast<std::size_t>(state_floats()));
  check("update counts", block.updates.size(), 1);
  check("recency", block.touched.size(), 1);
}

bool Table::Impl::make_room_for_import(Recency::Bin bin) {
  if (recency_.dead(bin)) return false;
  if (config_.capacity == 0 || recency_.live() < config_.capacity) return true;
  if (config_.eviction == config::Eviction::none) {
    throw CheckpointError(
        fmt::format("table '{}': the checkpoint has more rows than fit", config_.name),
        fmt::format("the capacity of this shard is {} rows and eviction is off", config_.capacity),
        "raise the table's capacity or set eviction = lru");
  }
  statistics_.evicted += recency_.make_room(1);
  return !recency_.dead(bin) && recency_.live() < config_.capacity;
}

void Table::Impl::import_rows(const RowBlock& block) {
  check_sizes(block);
  recency_.admit(block.touched, sweep());
  const auto floats = static_cast<std::size_t>(state_floats());
  index_.visit(block.ids, rows_.layout().bytes,
               [&](std::size_t i, std::uint64_t hash, Entry entry) {
                 const Recency::Bin bin = recency_.bin_of(block.touched[i]);
                 if (live(entry)) recency_.leave(entry.bin());
                 if (!make_room_for_import(bin)) {
                   if (live(entry)) entry.bin() = 0;
                   ++statistics_.evicted;
                   return;
                 }
                 const std::uint32_t row = new_row(block.ids[i], hash, entry, bin);
                 recency_.enter(bin);
                 std::copy_n(&block.weights[i * dim()], dim(), rows_.weights(row));
                 std::copy_n(block.state.data() + i * floats, floats, rows_.state(row));
                 rows_.set_updates(row, block.updates[i]);
               });
}

}  // namespace satrap::store
