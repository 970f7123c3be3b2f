#include "data/dedup.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "core/error.hpp"
#include "data/hash_stack.hpp"

namespace satrap::data {

namespace {

/// Numbers distinct ids in the order of their first occurrence. Open addressing, at most half full;
/// an entry counts only if it bears the current generation, so that clearing costs nothing.
class IdNumbering {
 public:
  /// Forgets all ids and makes room for `ids` distinct ones.
  void restart(std::size_t ids) {
    const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(2 * ids, 16));
    if (capacity > entries_.size()) {
      entries_.assign(capacity, {});
      generation_ = 0;
    }
    if (generation_ == std::numeric_limits<std::uint32_t>::max()) {
      std::fill(entries_.begin(), entries_.end(), Entry{});
      generation_ = 0;
    }
    ++generation_;
    mask_ = capacity - 1;
    ids_.clear();
  }

  std::uint32_t number_of(FeatureId id) {
    for (std::size_t i = mix(raw(id)) & mask_;; i = (i + 1) & mask_) {
      Entry& entry = entries_[i];
      if (entry.generation != generation_) {
        entry = {id, generation_, static_cast<std::uint32_t>(ids_.size())};
        ids_.push_back(id);
        return entry.number;
      }
      if (entry.id == id) return entry.number;
    }
  }

  void prefetch(FeatureId id) const { __builtin_prefetch(&entries_[mix(raw(id)) & mask_], 1); }

  /// The distinct ids so far; its index is the id's number.
  std::span<const FeatureId> ids() const { return ids_; }

 private:
  struct Entry {
    FeatureId id;
    std::uint32_t generation;
    std::uint32_t number;
  };
  static_assert(sizeof(Entry) == 16);

  std::vector<Entry> entries_;
  std::size_t mask_ = 0;
  std::uint32_t generation_ = 0;
  std::vector<FeatureId> ids_;
};

void check_fits(std::size_t rows) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (rows <= kMost) return;
  throw ConfigError(fmt::format("a slot's part of a batch takes {} rows", rows),
                    fmt::format("at most {} can be told apart", kMost),
                    "lower train.global_batch or the table's hash_rows");
}

}  // namespace

class Deduplicator::Impl {
 public:
  Impl(const config::Config& config, const RowPlacement& placement)
      : slots_of_table_(config.tables.size()),
        slots_(config.slots.size()),
        servers_(static_cast<std::size_t>(placement.servers())) {
    for (std::size_t slot = 0; slot < slots_; ++slot) {
      slots_of_table_[config.table_of_slot(slot)].push_back(slot);
    }
    for (std::size_t t = 0; t < config.tables.size(); ++t) {
      stacks_.emplace_back();
      if (config.tables[t].hash_rows > 0) stacks_[t].emplace(TableId(t), config.tables[t]);
    }
    for (std::uint32_t shard = 0; shard < placement.virtual_shards(); ++shard) {
      server_of_shard_.push_back(static_cast<std::uint32_t>(raw(placement.server_of_shard(shard))));
    }
  }

  void run(SampleBatch& samples, IdBatch& out) {
    SATRAP_EXPECT(samples.slots.size() == slots_);
    // Swapped, not moved, so that both sides keep their memory for the next batch.
    std::swap(out.labels, samples.labels);
    std::swap(out.dense, samples.dense);
    out.slots.resize(slots_);
    out.tables.resize(slots_of_table_.size());
    for (std::size_t t = 0; t < out.tables.size(); ++t) {
      number_ids(slots_of_table_[t], samples, out);
      if (stacks_[t]) number_rows(*stacks_[t], slots_of_table_[t], out);
      group_by_server(TableId(t), stacks_[t] ? rows_.ids() : ids_.ids(), out.tables[t]);
      for (const std::size_t slot : slots_of_table_[t]) {
        for (std::uint32_t& index : out.slots[slot].indices) index = place_of_[index];
      }
    }
  }

 private:
  void number_ids(const std::vector<std::size_t>& slots, SampleBatch& samples, IdBatch& out) {
    std::size_t total = 0;
    for (const std::size_t slot : slots) total += samples.slots[slot].ids.size();
    ids_.restart(total);
    for (const std::size_t slot : slots) {
      const std::vector<FeatureId>& ids = samples.slots[slot].ids;
      SlotRows& rows = out.slots[slot];
      std::swap(rows.offsets, samples.slots[slot].offsets);
      rows.indices.resize(ids.size());
      constexpr std::size_t kAhead = 8;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (i + kAhead < ids.size()) ids_.prefetch(ids[i + kAhead]);
        rows.indices[i] = ids_.number_of(ids[i]);
      }
    }
  }

  /// Puts the numbers of its r rows in the place of each id's number. An id is hashed once.
  void number_rows(const HashStack& stack, const std::vector<std::size_t>& slots, IdBatch& out) {
    const std::size_t r = stack.rows_per_id();
    rows_.restart(r * ids_.ids().size());
    rows_of_.clear();
    for (const FeatureId id : ids_.ids()) {
      stack.for_each_row(id, [&](FeatureId row) { rows_of_.push_back(rows_.number_of(row)); });
    }
    for (const std::size_t slot : slots) {
      auto& [indices, offsets] = out.slots[slot];
      check_fits(r * indices.size());
      id_numbers_.swap(indices);
      indices.clear();
      for (const std::size_t id : id_numbers_) {
        const auto first = rows_of_.begin() + static_cast<std::ptrdiff_t>(r * id);
        indices.insert(indices.end(), first, first + static_cast<std::ptrdiff_t>(r));
      }
      for (std::uint32_t& offset : offsets) offset *= static_cast<std::uint32_t>(r);
    }
  }

  /// A stable counting sort of numbered ids by owner; place_of_ maps number to place.
  void group_by_server(TableId table, std::span<const FeatureId> ids, TableIds& out) {
    server_of_.resize(ids.size());
    place_of_.resize(ids.size());
    out.unique.resize(ids.size());
    out.server_begin.assign(servers_ + 1, 0);
    const auto shards = static_cast<std::uint32_t>(server_of_shard_.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      server_of_[i] = server_of_shard_[RowPlacement::shard_of(table, ids[i], shards)];
      ++out.server_begin[server_of_[i] + 1];
    }
    for (std::size_t s = 0; s < servers_; ++s) out.server_begin[s + 1] += out.server_begin[s];
    next_.assign(out.server_begin.begin(), out.server_begin.end() - 1);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      place_of_[i] = next_[server_of_[i]]++;
      out.unique[place_of_[i]] = ids[i];
    }
  }

  std::vector<std::vector<std::size_t>> slots_of_table_;
  std::size_t slots_;
  std::size_t servers_;
  std::vector<std::uint32_t> server_of_shard_;
  std::vector<std::optional<HashStack>> stacks_;  // [tables]

  // Scratch of one table, reused by the next so that it stays in the cache.
  IdNumbering ids_;
  IdNumbering rows_;                       // of a hash stack
  std::vector<std::uint32_t> rows_of_;     // [distinct ids, r]
  std::vector<std::uint32_t> id_numbers_;  // of a slot
  std::vector<std::uint32_t> server_of_;
  std::vector<std::uint32_t> place_of_;
  std::vector<std::uint32_t> next_;
};

Deduplicator::Deduplicator(const config::Config& config, const RowPlacement& placement)
    : impl_(std::make_unique<Impl>(config, placement)) {}

Deduplicator::~Deduplicator() = default;

void Deduplicator::run(SampleBatch&& samples, IdBatch& out) {
  impl_->run(samples, out);
}

}  // namespace satrap::data
