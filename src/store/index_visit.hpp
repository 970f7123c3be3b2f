#pragma once

// Searches for many ids at a time: the template members of Index.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "store/index.hpp"

namespace satrap::store {

/// Some ids on their way through a search.
struct Index::Group {
  std::span<const FeatureId> ids;
  std::size_t first = 0;  ///< Place of ids[0] in the batch.
  std::array<std::uint64_t, kGroup> hashes;
  std::array<Entry, kGroup> likely;
  std::array<std::uint32_t, kGroup> numbers;   ///< Of the rows of the likely entries,
  std::array<std::byte*, kGroup> rows;         ///< and where these rows are.
  std::array<std::uint8_t, kGroup> elsewhere;  ///< Ids not in their home buckets.
  std::size_t n_elsewhere = 0;
  std::int64_t longest = 1;  ///< Buckets of the longest search,
  std::int64_t more = 0;     ///< and buckets beyond one for each id.
};

inline void Index::start(Group& group, std::span<const FeatureId> ids) const noexcept {
  group.ids = ids;
  group.n_elsewhere = 0;
  group.longest = 1;
  group.more = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    group.hashes[i] = hash(ids[i]);
    group.likely[i].bucket = home(group.hashes[i]);
    prefetch_line(group.likely[i].bucket);
  }
}

inline void Index::fetch_row(Group& group, std::size_t i, unsigned matches,
                             std::size_t row_bytes) const noexcept {
  Entry& entry = group.likely[i];
  entry.place = static_cast<unsigned>(std::countr_zero(matches | 1U << (Bucket::kEntries - 1)));
  // Without a match it is row 0: no use, but no memory traffic for long either.
  group.numbers[i] = matches == 0 ? 0 : entry.row();
  group.rows[i] = rows_->at(group.numbers[i]);
  Rows::prefetch(group.rows[i], row_bytes);
  // One in forty buckets has a second entry with the fingerprint.
  for (unsigned others = matches & (matches - 1); others != 0; others &= others - 1) {
    const std::uint32_t other = entry.bucket->row[static_cast<unsigned>(std::countr_zero(others))];
    Rows::prefetch(rows_->at(other), row_bytes);
  }
}

inline void Index::fetch_rows(Group& group, std::size_t row_bytes) const noexcept {
  for (std::size_t i = 0; i < group.ids.size(); ++i) {
    Bucket* const bucket = group.likely[i].bucket;
    const unsigned matches = match(*bucket, fingerprint(group.hashes[i]));
    fetch_row(group, i, matches, row_bytes);
    const bool goes_on = (matches == 0) & (bucket->overflow != 0);
    group.elsewhere[group.n_elsewhere] = static_cast<std::uint8_t>(i);
    group.n_elsewhere += goes_on;
  }
  for (std::size_t k = 0; k < group.n_elsewhere; ++k) pass_on(group.likely[group.elsewhere[k]]);
}

inline void Index::search_on(Group& group, std::size_t row_bytes) const noexcept {
  for (std::uint32_t probe = 1; group.n_elsewhere > 0 && probe < kBuckets; ++probe) {
    const std::size_t n = std::exchange(group.n_elsewhere, 0);
    group.more += static_cast<std::int64_t>(n);
    ++group.longest;
    for (std::size_t k = 0; k < n; ++k) {
      const std::uint8_t i = group.elsewhere[k];
      const Bucket* const bucket = group.likely[i].bucket;
      const unsigned matches = match(*bucket, fingerprint(group.hashes[i]));
      fetch_row(group, i, matches, row_bytes);
      if (matches != 0 || bucket->overflow == 0) continue;
      group.elsewhere[group.n_elsewhere++] = i;
      pass_on(group.likely[i]);
    }
  }
}

template <class Visit>
Index::Probes Index::visit(std::span<const FeatureId> ids, std::size_t row_bytes,
                           Visit&& visit) const {
  const auto searches = static_cast<std::int64_t>(ids.size());
  Probes probes{searches, searches, std::min<std::int64_t>(searches, 1)};
  if (rows_->used() == 0) {  // The steps below take it that there is a row.
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::uint64_t h = hash(ids[i]);
      const Entry entry = find(ids[i], h);  // A visit before this one may have added it.
      visit(i, h, entry, entry ? rows_->at(entry.row()) : nullptr);
    }
    return probes;
  }
  // A group of ids goes through steps, each fetching what the next one reads. The buckets of the
  // next group are on their way while this one does the work on its rows.
  // No branch depends on memory that may just have arrived: a wrong guess would stop everything
  // that is on its way.
  std::array<Group, 2> groups;
  const auto start_at = [&](Group& group, std::size_t first) {
    group.first = first;
    start(group, ids.subspan(first, std::min(kGroup, ids.size() - first)));
  };
  if (!ids.empty()) start_at(groups[0], 0);
  for (std::size_t first = 0; first < ids.size(); first += kGroup) {
    Group& group = groups[first / kGroup % 2];
    fetch_rows(group, row_bytes);
    if (first + kGroup < ids.size()) start_at(groups[(first / kGroup + 1) % 2], first + kGroup);
    search_on(group, row_bytes);
    probes.buckets += group.more;
    probes.longest = std::max(probes.longest, group.longest);
    for (std::size_t i = 0; i < group.ids.size(); ++i) {
      Entry entry = group.likely[i];
      std::byte* row = group.rows[i];
      const std::uint64_t h = group.hashes[i];
      // A visit before this one may have moved the entry: what the place holds now decides.
      const bool found = entry.bucket->fingerprint[entry.place] == fingerprint(h) &&
                         entry.row() == group.numbers[i] && Rows::id(row) == group.ids[i];
      if (!found) {
        entry = find(group.ids[i], h);
        row = entry ? rows_->at(entry.row()) : nullptr;
      }
      visit(group.first + i, h, entry, row);
    }
  }
  return probes;
}

}  // namespace satrap::store
