#pragma once

#include <algorithm>
#include <cstdint>

namespace satrap::store {

/// What a table holds and did since it was made. Trivially copyable: it travels as bytes.
struct TableStatistics {
  std::int64_t rows = 0;
  std::int64_t capacity = 0;  ///< In rows; 0: no limit.

  // Bytes allocated, by part.
  std::int64_t row_bytes = 0;  ///< Slabs: ids, weights, optimizer state, and rows not used yet.
  std::int64_t index_bytes = 0;
  std::int64_t admission_bytes = 0;
  std::int64_t other_bytes = 0;  ///< Tables of slabs, directory of the index, scratch.

  // The index.
  std::int64_t slots = 0;          ///< Entries that it has room for: load = rows / slots.
  std::int64_t searches = 0;       ///< Ids looked for, by any operation.
  std::int64_t probes = 0;         ///< Buckets (cache lines) that these searches read.
  std::int64_t longest_probe = 0;  ///< Buckets of the longest search.

  // Ids of training lookups: hits + inserted + not_admitted.
  std::int64_t hits = 0;          ///< Found.
  std::int64_t inserted = 0;      ///< Got a row.
  std::int64_t not_admitted = 0;  ///< Got none.

  std::int64_t evicted = 0;  ///< Rows, to make room or too old, by lookups and imports.
  std::int64_t gradients_applied = 0;
  /// Of ids without a row: evicted since their lookup, or not admitted.
  std::int64_t gradients_dropped = 0;

  std::int64_t bytes() const noexcept {
    return row_bytes + index_bytes + admission_bytes + other_bytes;
  }

  /// Of several shards of a table.
  TableStatistics& operator+=(const TableStatistics& other) noexcept;
};

inline TableStatistics& TableStatistics::operator+=(const TableStatistics& other) noexcept {
  rows += other.rows;
  capacity += other.capacity;
  row_bytes += other.row_bytes;
  index_bytes += other.index_bytes;
  admission_bytes += other.admission_bytes;
  other_bytes += other.other_bytes;
  slots += other.slots;
  searches += other.searches;
  probes += other.probes;
  longest_probe = std::max(longest_probe, other.longest_probe);
  hits += other.hits;
  inserted += other.inserted;
  not_admitted += other.not_admitted;
  evicted += other.evicted;
  gradients_applied += other.gradients_applied;
  gradients_dropped += other.gradients_dropped;
  return *this;
}

}  // namespace satrap::store
