#include "store/recency.hpp"

#include <algorithm>
#include <limits>

#include "core/error.hpp"

namespace satrap::store {
namespace {

constexpr std::int64_t kGrains = 32;
/// Two neighbours hold more than a grain between them after merging, and a grain is more than 1/64
/// of the table, so merging always reaches this.
constexpr std::size_t kMergedBins = 128;
/// Bins that one batch may open: a grain of rows each, of at most all the rows of the table.
constexpr int kBinsPerBatch = 66;
/// Bins that an import may make. A table never has more, so one that is exported keeps its bins.
constexpr std::size_t kImportBins = kMergedBins + kBinsPerBatch;
constexpr std::uint32_t kLastStamp = std::numeric_limits<std::uint32_t>::max() - 2 * kBinsPerBatch;

static_assert(kImportBins + kGrains < Recency::kBins - 1);

}  // namespace

std::int64_t Recency::grain_for(std::int64_t n) const noexcept {
  const std::int64_t rows = capacity_ > 0 ? capacity_ : std::max(live_, n);
  return std::max<std::int64_t>(1, rows / kGrains);
}

void Recency::open() noexcept {
  ++current_;
  rows_[current_] = 0;
  stamps_[current_] = ++clock_;
}

std::vector<Recency::Group> Recency::groups() const {
  std::vector<Group> groups;
  for (unsigned bin = oldest_; bin <= current_; ++bin) {
    const Bin b = static_cast<Bin>(bin);
    if (rows_[b] > 0) groups.push_back({stamps_[b], rows_[b], b, b});
  }
  return groups;
}

std::vector<Recency::Group> Recency::merged(const std::vector<Group>& groups, std::int64_t grain) {
  std::vector<Group> result;
  for (const Group& group : groups) {
    if (!result.empty() && result.back().rows + group.rows <= grain) {
      Group& into = result.back();
      into.stamp = group.stamp;
      into.rows += group.rows;
      into.first = std::min(into.first, group.first);
      into.last = std::max(into.last, group.last);
    } else {
      result.push_back(group);
    }
  }
  return result;
}

bool Recency::plan_batch(std::int64_t n) {
  grain_ = grain_for(n);
  coarse_ = false;
  dropped_stamp_ = -1;
  const bool numbers_end = current_ + kBinsPerBatch >= static_cast<int>(kBins);
  const auto used =
      static_cast<std::size_t>(std::count_if(rows_.begin() + oldest_, rows_.begin() + current_ + 1,
                                             [](std::int64_t rows) { return rows > 0; }));
  // Rows may come with equal stamps by the million, from an import. Dropping them all for the sake
  // of one new row would be a poor kind of eviction: such a bin is split before its turn comes.
  const auto next = std::find_if(rows_.begin() + oldest_, rows_.begin() + current_,
                                 [](std::int64_t rows) { return rows > 0; });
  const bool huge = capacity_ > 0 && live_ + n > capacity_ && *next > 2 * grain_;
  if (!numbers_end && used <= kMergedBins && !huge && clock_ < kLastStamp) return false;

  std::vector<Group> bins = groups();
  if (used > kMergedBins) bins = merged(bins, grain_);
  if (huge) bins.front().parts = static_cast<std::uint32_t>(std::min(*next / grain_, kGrains));
  renumber(bins);
  return true;
}

void Recency::renumber(const std::vector<Group>& groups) {
  renumbering_ = {};
  // Parts of a bin need stamps between those of its neighbours, and stamps may have come to their
  // end. Only their order means something, so the bins' numbers will do.
  const bool new_stamps =
      clock_ >= kLastStamp ||
      std::any_of(groups.begin(), groups.end(), [](const Group& group) { return group.parts > 1; });
  std::uint32_t bin = 0;
  for (const Group& group : groups) {
    for (unsigned old = group.first; old <= group.last; ++old) {
      renumbering_.bin[old] = static_cast<Bin>(bin + 1);
    }
    if (group.parts > 1) {
      renumbering_.split = group.first;
      renumbering_.parts = group.parts;
    }
    for (std::uint32_t part = 0; part < group.parts; ++part) {
      ++bin;
      stamps_[bin] = new_stamps ? bin : group.stamp;
    }
  }
  oldest_ = 1;
  current_ = static_cast<Bin>(std::max(bin, 1U));
  clock_ = stamps_[current_];
}

void Recency::count(const RowsPerBin& rows) noexcept {
  rows_ = rows;
  rows_[0] = 0;  // the dead
}

void Recency::start_batch(std::int64_t n) noexcept {
  // A batch that may need most of the table shares its first bin with nobody, so that everything
  // but the batch can be dropped.
  if (capacity_ > 0 && n > capacity_ / 2 && rows_[current_] > 0) {
    open();
  } else {
    stamps_[current_] = ++clock_;
  }
  protected_ = current_;
}

std::int64_t Recency::make_room(std::int64_t n) noexcept {
  std::int64_t died = 0;
  while (capacity_ > 0 && live_ + n > capacity_ && oldest_ < protected_) {
    died += rows_[oldest_];
    live_ -= rows_[oldest_];
    rows_[oldest_] = 0;
    dropped_stamp_ = stamps_[oldest_];
    ++oldest_;
  }
  return died;
}

bool Recency::plan_import(std::span<const std::uint32_t> stamps) {
  std::vector<std::uint32_t> sorted(stamps.begin(), stamps.end());
  std::sort(sorted.begin(), sorted.end());
  const auto known = [this](std::uint32_t stamp) {
    if (stamp <= dropped_stamp_) return true;
    return live_ > 0 && stamp <= clock_ && (coarse_ || stamps_[bin_of(stamp)] == stamp);
  };
  if (std::all_of(sorted.begin(), sorted.end(), known)) return false;

  std::vector<Group> all = groups();
  const auto alive =
      std::upper_bound(sorted.begin(), sorted.end(), dropped_stamp_) - sorted.begin();
  for (auto i = static_cast<std::size_t>(alive); i < sorted.size();) {
    const auto end = std::upper_bound(sorted.begin(), sorted.end(), sorted[i]) - sorted.begin();
    const auto rows = end - static_cast<std::ptrdiff_t>(i);
    all.push_back({sorted[i], rows, Bin{255}, Bin{0}});
    i = static_cast<std::size_t>(end);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Group& a, const Group& b) { return a.stamp < b.stamp; });
  // Where a bin has the stamp already, the rows to come join it.
  std::vector<Group> bins;
  for (const Group& group : all) {
    if (!bins.empty() && bins.back().stamp == group.stamp) {
      bins.back().rows += group.rows;
    } else {
      bins.push_back(group);
    }
  }
  coarse_ = coarse_ || bins.size() > kImportBins;
  if (coarse_) {
    for (std::int64_t grain = grain_for(static_cast<std::int64_t>(stamps.size()));
         bins.size() > kMergedBins; grain *= 2) {
      bins = merged(bins, grain);
    }
  }
  renumber(bins);
  return true;
}

void Recency::start_import() noexcept {
  protected_ = current_;
}

Recency::Bin Recency::bin_of(std::uint32_t stamp) const noexcept {
  if (stamp <= dropped_stamp_) return 0;
  const auto first = stamps_.begin() + oldest_;
  const auto end = stamps_.begin() + current_;
  return static_cast<Bin>(std::lower_bound(first, end, stamp) - stamps_.begin());
}

}  // namespace satrap::store
