#pragma once

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "store/eviction_queue.hpp"
#include "store/rows.hpp"

namespace satrap::store {

/// One cache line of the index: ten entries, each a fingerprint of the id's hash, the eviction
/// bin of the row, and the row's number. Fingerprint 0 marks a free entry. An id that finds its
/// home bucket full goes to the next one with room; `overflow` counts the entries that passed over
/// this bucket, so a search ends at the first bucket where it is 0, and removing an entry leaves
/// nothing behind.
///
///     0                 10         20         24                      64   bytes
///     | fingerprint[10] | bin[10]  | overflow | row[10]               |
struct alignas(64) Bucket {
  static constexpr unsigned kEntries = 10;
  static constexpr unsigned kMask = (1U << kEntries) - 1;  ///< One bit per entry.

  std::array<std::uint8_t, kEntries> fingerprint;
  std::array<EvictionQueue::Bin, kEntries> bin;
  std::uint32_t overflow;
  std::array<std::uint32_t, kEntries> row;
};
static_assert(sizeof(Bucket) == 64);
static_assert(offsetof(Bucket, bin) == 10 && offsetof(Bucket, overflow) == 20 &&
              offsetof(Bucket, row) == 24);

/// An entry of the index, or none.
struct Entry {
  Bucket* bucket = nullptr;
  unsigned place = 0;

  explicit operator bool() const noexcept { return bucket != nullptr; }
  EvictionQueue::Bin& bin() const noexcept { return bucket->bin[place]; }
  std::uint32_t row() const noexcept { return bucket->row[place]; }
};

/// Finds the row of an id. An extendible hash table: a directory of segments of 4096 buckets, each
/// split in two when it is full, so that growing never copies more than one segment. Entries do not
/// hold ids; a fingerprint that matches is checked in the row.
///
///     hash   63 ........... 33 | ........ | 19 ....... 12 | 11 ...... 0
///            cell of directory            | fingerprint   | home bucket
///
/// Uniform hashes would make all segments split at the same time: the load would swing between
/// halves and all the work would come at once. `cell_position` spreads the hashes over the
/// directory with a density that doubles from its start to its end, so that at any size some
/// segments are about to split and others just have been: load and work per insert are the same at
/// every size.
///
/// The order of entries depends on history; nothing that the table shows depends on it.
class Index {
 public:
  /// In an index of many segments, rounded up: 64 bytes over 10 entries at a load of 0.6.
  static constexpr std::int64_t kBytesPerEntry = 11;

  /// `salt` makes the hashes of this table its own.
  Index(Arena& arena, Rows& rows, std::uint64_t salt);

  std::uint64_t hash(FeatureId id) const noexcept { return mix(raw(id) ^ salt_); }

  Entry find(FeatureId id, std::uint64_t hash) const noexcept;

  /// Adds an entry for an id that has none; the row must hold the id already (splits read it).
  void insert(std::uint64_t hash, std::uint32_t row, EvictionQueue::Bin bin);

  /// Removes up to `count` entries whose rows are dead, tells the queue, appends their numbers to
  /// `freed`, and says how many. Goes on where the last call stopped; `count` entries are found if
  /// there are any.
  std::size_t remove_dead(EvictionQueue& queue, std::size_t count,
                          std::vector<std::uint32_t>& freed);

  /// Gives the bins of all entries their new numbers; returns the entries per bin.
  EvictionQueue::RowsPerBin renumber(const EvictionQueue::Renumbering& renumbering) noexcept;

  /// What searches cost.
  struct Probes {
    std::int64_t searches = 0;
    std::int64_t buckets = 0;  ///< Read, all searches together.
    std::int64_t longest = 0;  ///< Buckets of one search.
  };

  /// Calls visit(i, hash, entry, row) for each of `ids` in order, with the row of the entry, or
  /// with no entry for an id that is not there. Runs ahead of the visits, so that the bucket and
  /// the first `row_bytes` of the row are in the cache when they are touched. A visit may change
  /// the index.
  template <class Visit>
  Probes visit(std::span<const FeatureId> ids, std::size_t row_bytes, Visit&& visit) const;

  /// Calls visit(row, bin) for all entries.
  template <class Visit>
  void visit_all(Visit&& visit) const {
    for (const Segment& segment : segments_) {
      for (const Bucket& bucket : std::span(segment.buckets, kBuckets)) {
        visit_entries(bucket, [&](unsigned i) { visit(bucket.row[i], bucket.bin[i]); });
      }
    }
  }

  void prefetch(std::uint64_t hash) const noexcept { prefetch_line(home(hash)); }
  std::int64_t slots() const noexcept;
  /// Bytes outside the arena.
  std::int64_t metadata_bytes() const noexcept;

 private:
  static constexpr std::uint32_t kBuckets = 4096;
  static constexpr std::size_t kSegmentBytes = kBuckets * sizeof(Bucket);
  static constexpr unsigned kPositionBits = 62;
  /// Ids that take a step of the search together: those in flight keep memory busy, and their rows
  /// fit the L2 cache.
  static constexpr std::size_t kGroup = 96;
  /// More splits than this cannot come from the number of rows, only from ids made to collide. It
  /// keeps the directory small beside the segments.
  unsigned most_depth() const noexcept {
    return static_cast<unsigned>(std::bit_width(segments_.size())) + 8;
  }
  /// Entries of a segment that make it split.
  static constexpr std::uint32_t kSplitSize = kBuckets * Bucket::kEntries / 100 * 92;

  struct Segment {
    Bucket* buckets;
    std::uint32_t entries;
    std::uint32_t depth;  ///< The upper bits of a position that all its entries share.
  };

  static std::uint64_t cell_position(std::uint64_t hash) noexcept {
    // (4u - u^2) / 3 maps [0, 1) onto itself; its slope falls from 4/3 to 2/3. u has 31 bits.
    const std::uint64_t u = hash >> 33;
    return u * ((std::uint64_t{1} << 33) - u) / 3;
  }
  static std::uint8_t fingerprint(std::uint64_t hash) noexcept {
    const auto bits = static_cast<std::uint8_t>(hash >> 12);
    return bits == 0 ? std::uint8_t{1} : bits;
  }
  static std::uint32_t home_bucket(std::uint64_t hash) noexcept { return hash % kBuckets; }
  std::size_t cell(std::uint64_t hash) const noexcept {
    return cell_position(hash) >> (kPositionBits - depth_);
  }
  Bucket* segment_of(std::uint64_t hash) const noexcept { return buckets_of_cell_[cell(hash)]; }
  Bucket* home(std::uint64_t hash) const noexcept { return segment_of(hash) + home_bucket(hash); }

  /// One bit per entry of the bucket with this fingerprint.
  static unsigned match(const Bucket& bucket, std::uint8_t fingerprint) noexcept;

  struct Group;
  void start(Group& group, std::span<const FeatureId> ids) const noexcept;
  void fetch_rows(Group& group, std::size_t row_bytes) const noexcept;
  void search_on(Group& group, std::size_t row_bytes) const noexcept;
  void fetch_row(Group& group, std::size_t i, unsigned matches,
                 std::size_t row_bytes) const noexcept;

  bool remove_dead_of(Segment& segment, EvictionQueue& queue, std::size_t count,
                      std::vector<std::uint32_t>& freed);
  void forget_ways(std::span<const std::uint32_t> freed) noexcept;
  template <class Visit>
  static void visit_entries(const Bucket& bucket, Visit&& visit) {
    for (unsigned bits = ~match(bucket, 0) & Bucket::kMask; bits != 0; bits &= bits - 1) {
      visit(static_cast<unsigned>(std::countr_zero(bits)));
    }
  }

  static Bucket* next_bucket(Bucket* bucket) noexcept;
  static void pass_on(Entry& entry) noexcept {
    entry.bucket = next_bucket(entry.bucket);
    prefetch_line(entry.bucket);
  }
  static void place(Bucket* segment, std::uint64_t hash, std::uint32_t row,
                    EvictionQueue::Bin bin) noexcept;
  Bucket* new_segment();
  void split(std::uint32_t segment);
  void double_directory();

  Arena* arena_;
  Rows* rows_;
  std::uint64_t salt_;
  unsigned depth_ = 0;  ///< The directory has 2^depth cells.
  std::vector<Bucket*> buckets_of_cell_;
  std::vector<std::uint32_t> segment_of_cell_;
  std::vector<Segment> segments_;
  std::byte* free_ = nullptr;  ///< The rest of the newest block of the arena.
  std::byte* end_ = nullptr;
  std::size_t hand_segment_ = 0;  ///< Where remove_dead goes on.
  std::uint32_t hand_bucket_ = 0;
  struct Removal {
    std::uint32_t segment;
    std::uint32_t bucket;
  };
  std::vector<Removal> removals_;  ///< Scratch of remove_dead.
  std::vector<Bucket> unsplit_;    ///< Scratch of split.
};

namespace detail {

/// The bits of a mask over 16 bytes, those of the entries of a bucket.
template <class Mask>
unsigned mask_bits(const Mask& mask) noexcept {
  namespace hn = hwy::HWY_NAMESPACE;
  std::array<std::uint8_t, 8> bytes;  // As many as StoreMaskBits asks for; it fills two.
  hn::StoreMaskBits(hn::Full128<std::uint8_t>(), mask, bytes.data());
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes.data(), sizeof bits);
  return bits & Bucket::kMask;
}

}  // namespace detail

inline unsigned Index::match(const Bucket& bucket, std::uint8_t fingerprint) noexcept {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Full128<std::uint8_t> d;
  // Reads 16 bytes: the fingerprints and six of the bins.
  const auto equal = hn::Eq(hn::LoadU(d, bucket.fingerprint.data()), hn::Set(d, fingerprint));
  return detail::mask_bits(equal);
}

inline Bucket* Index::next_bucket(Bucket* bucket) noexcept {
  // Segments are aligned to their size.
  const auto end = reinterpret_cast<std::uintptr_t>(bucket + 1);
  return end % kSegmentBytes == 0 ? bucket + 1 - kBuckets : bucket + 1;
}

inline Entry Index::find(FeatureId id, std::uint64_t hash) const noexcept {
  Bucket* bucket = home(hash);
  for (std::uint32_t probe = 0; probe < kBuckets; ++probe) {
    for (unsigned bits = match(*bucket, fingerprint(hash)); bits != 0; bits &= bits - 1) {
      const auto place = static_cast<unsigned>(std::countr_zero(bits));
      if (rows_->id(bucket->row[place]) == id) return {bucket, place};
    }
    if (bucket->overflow == 0) break;
    bucket = next_bucket(bucket);
  }
  return {};
}

}  // namespace satrap::store
