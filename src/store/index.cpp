#include "store/index.hpp"

#include <algorithm>
#include <cstring>

#include "core/error.hpp"

namespace satrap::store {

static_assert(Arena::kBlockBytes % sizeof(Bucket) == 0);

Index::Index(Arena& arena, Rows& rows, std::uint64_t salt)
    : arena_(&arena), rows_(&rows), salt_(salt) {
  segments_.push_back({new_segment(), 0, 0});
  buckets_of_cell_.push_back(segments_.front().buckets);
  segment_of_cell_.push_back(0);
}

namespace {

/// One bit per entry in use whose bin is one of `bins`.
unsigned match_bins(const Bucket& bucket, std::span<const EvictionQueue::Bin> bins) noexcept {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Full128<std::uint8_t> d;
  const auto bin = hn::LoadU(d, bucket.bin.data());
  auto any = hn::Ne(bin, bin);
  for (const EvictionQueue::Bin wanted : bins) any = hn::Or(any, hn::Eq(bin, hn::Set(d, wanted)));
  const auto used = hn::Ne(hn::LoadU(d, bucket.fingerprint.data()), hn::Zero(d));
  return detail::mask_bits(hn::And(used, any));
}

}  // namespace

std::int64_t Index::slots() const noexcept {
  return static_cast<std::int64_t>(segments_.size()) * kBuckets * Bucket::kEntries;
}

std::int64_t Index::metadata_bytes() const noexcept {
  return static_cast<std::int64_t>(
      segments_.capacity() * sizeof(Segment) + buckets_of_cell_.capacity() * sizeof(Bucket*) +
      segment_of_cell_.capacity() * sizeof(std::uint32_t) + unsplit_.capacity() * sizeof(Bucket));
}

Bucket* Index::new_segment() {
  static_assert(Arena::kBlockBytes % kSegmentBytes == 0);
  if (free_ == end_) {
    free_ = arena_->allocate();
    end_ = free_ + Arena::kBlockBytes;
  }
  auto* segment = reinterpret_cast<Bucket*>(free_);
  free_ += kSegmentBytes;
  return segment;
}

void Index::place(Bucket* segment, std::uint64_t hash, std::uint32_t row,
                  EvictionQueue::Bin bin) noexcept {
  Bucket* bucket = segment + home_bucket(hash);
  unsigned free = match(*bucket, 0);
  for (; free == 0; free = match(*bucket, 0)) {
    ++bucket->overflow;
    bucket = next_bucket(bucket);
  }
  const auto place = static_cast<unsigned>(std::countr_zero(free));
  bucket->fingerprint[place] = fingerprint(hash);
  bucket->bin[place] = bin;
  bucket->row[place] = row;
}

void Index::insert(std::uint64_t hash, std::uint32_t row, EvictionQueue::Bin bin) {
  std::uint32_t segment = segment_of_cell_[cell(hash)];
  while (segments_[segment].entries >= kSplitSize && segments_[segment].depth < most_depth()) {
    split(segment);
    segment = segment_of_cell_[cell(hash)];
  }
  if (segments_[segment].entries == kBuckets * Bucket::kEntries) {
    throw InternalError(fmt::format("{} cannot index more rows", arena_->owner()),
                        "far too many ids have hashes that begin alike",
                        "the ids must have been made to collide; use another job.seed");
  }
  place(segments_[segment].buckets, hash, row, bin);
  ++segments_[segment].entries;
}

void Index::double_directory() {
  const auto doubled = [](const auto& cells) {
    std::remove_cvref_t<decltype(cells)> twice;
    twice.reserve(2 * cells.size());
    for (const auto cell : cells) twice.insert(twice.end(), 2, cell);
    return twice;
  };
  auto buckets = doubled(buckets_of_cell_);
  segment_of_cell_ = doubled(segment_of_cell_);
  buckets_of_cell_ = std::move(buckets);
  ++depth_;
}

void Index::split(std::uint32_t segment) {
  // All that can fail comes first, so that a failure leaves the index as it was.
  if (segments_[segment].depth == depth_) double_directory();
  unsplit_.resize(kBuckets);
  const unsigned depth = segments_[segment].depth + 1;
  const auto upper_segment = static_cast<std::uint32_t>(segments_.size());
  segments_.push_back({new_segment(), 0, depth});
  segments_[segment].depth = depth;

  Bucket* const lower = segments_[segment].buckets;
  Bucket* const upper = segments_[upper_segment].buckets;
  std::memcpy(unsplit_.data(), lower, kSegmentBytes);
  std::memset(static_cast<void*>(lower), 0, kSegmentBytes);

  // The ids are in the rows: fetch those of some buckets ahead.
  constexpr std::uint32_t kAhead = 4;
  std::uint64_t position = 0;
  std::uint32_t to_upper = 0;
  for (std::uint32_t b = 0; b < kBuckets + kAhead; ++b) {
    if (b < kBuckets) {
      visit_entries(unsplit_[b], [&](unsigned i) { rows_->prefetch_id(unsplit_[b].row[i]); });
    }
    if (b < kAhead) continue;
    const Bucket& bucket = unsplit_[b - kAhead];
    visit_entries(bucket, [&](unsigned i) {
      const std::uint64_t h = hash(rows_->id(bucket.row[i]));
      position = cell_position(h);
      const bool up = (position >> (kPositionBits - depth)) & 1;
      to_upper += up;
      place(up ? upper : lower, h, bucket.row[i], bucket.bin[i]);
    });
  }
  segments_[upper_segment].entries = to_upper;
  segments_[segment].entries -= to_upper;

  // The cells of the segment are contiguous; the upper half now belongs to the new one.
  const std::uint64_t prefix = position >> (kPositionBits - depth) | 1;
  const unsigned shift = depth_ - depth;
  for (std::uint64_t c = prefix << shift; c < (prefix + 1) << shift; ++c) {
    buckets_of_cell_[c] = upper;
    segment_of_cell_[c] = upper_segment;
  }
}

std::size_t Index::remove_dead(EvictionQueue& queue, std::size_t count,
                               std::vector<std::uint32_t>& freed) {
  const std::size_t first = freed.size();
  removals_.clear();
  // One full turn of the hand, and the segment where it began once more.
  for (std::size_t turn = 0; turn <= segments_.size(); ++turn) {
    if (remove_dead_of(segments_[hand_segment_], queue, count, freed)) break;
    hand_bucket_ = 0;
    hand_segment_ = (hand_segment_ + 1) % segments_.size();
  }
  forget_ways(std::span(freed).subspan(first));
  return removals_.size();
}

/// From the hand on; whether there are `count` of them now, or no dead ones left.
bool Index::remove_dead_of(Segment& segment, EvictionQueue& queue, std::size_t count,
                           std::vector<std::uint32_t>& freed) {
  for (; hand_bucket_ < kBuckets; ++hand_bucket_) {
    Bucket& bucket = segment.buckets[hand_bucket_];
    for (unsigned bits = match_bins(bucket, queue.dead_bins()); bits != 0; bits &= bits - 1) {
      if (removals_.size() == count) return true;
      const auto place = static_cast<unsigned>(std::countr_zero(bits));
      bucket.fingerprint[place] = 0;
      --segment.entries;
      queue.reclaimed(bucket.bin[place]);
      freed.push_back(bucket.row[place]);
      removals_.push_back({static_cast<std::uint32_t>(hand_segment_), hand_bucket_});
      rows_->prefetch_id(bucket.row[place]);
    }
    if (queue.dead_bins().empty()) return true;
  }
  return false;
}

/// Takes back the counts of the buckets that removed entries passed over on their way from home.
void Index::forget_ways(std::span<const std::uint32_t> freed) noexcept {
  for (std::size_t i = 0; i < removals_.size(); ++i) {
    Bucket* const buckets = segments_[removals_[i].segment].buckets;
    std::uint32_t at = home_bucket(hash(rows_->id(freed[i])));
    for (; at != removals_[i].bucket; at = (at + 1) % kBuckets) --buckets[at].overflow;
  }
}

EvictionQueue::RowsPerBin Index::renumber(const EvictionQueue::Renumbering& renumbering) noexcept {
  EvictionQueue::RowsPerBin rows{};
  for (const Segment& segment : segments_) {
    for (Bucket& bucket : std::span(segment.buckets, kBuckets)) {
      visit_entries(bucket, [&](unsigned i) {
        bucket.bin[i] = renumbering(bucket.bin[i], bucket.fingerprint[i]);
        ++rows[bucket.bin[i]];
      });
    }
  }
  return rows;
}

}  // namespace satrap::store
