#include "store/eviction_queue.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace satrap::store {
namespace {

constexpr std::int64_t kGrains = 32;
/// Two neighbours of a class hold more than a grain between them after merging, and a grain is more
/// than 1/64 of the table, so merging nearly always reaches this.
constexpr std::size_t kMergedBins = 136;
/// Bins that one batch may open: a grain of rows each, of at most all the rows of the table, and
/// one that is not full in each class.
constexpr std::size_t kBinsPerBatch = 66 + 8;

static_assert(kMergedBins + kBinsPerBatch < EvictionQueue::kBins);

}  // namespace

EvictionQueue::EvictionQueue(const config::TableConfig& config, std::int64_t capacity)
    : policy_(config.eviction),
      capacity_(capacity),
      ttl_(policy_ == config::Eviction::ttl ? config.ttl : 0),
      half_life_(config.half_life),
      classes_(policy_ == config::Eviction::lfu ? kClasses : 1) {
  dead_bins_.reserve(kBins);
}

std::int64_t EvictionQueue::grain_for(std::int64_t n) const noexcept {
  const std::int64_t rows = capacity_ > 0 ? capacity_ : std::max(live_, n);
  return std::max<std::int64_t>(1, rows / kGrains);
}

void EvictionQueue::open(unsigned level) noexcept {
  clock_ += kClasses;
  const auto bin = static_cast<Bin>(labels_++);
  rows_[bin] = 0;
  alive_[bin] = 1;
  keys_[bin] = key_of(level, clock_);
  current_[level] = bin;
}

std::int64_t EvictionQueue::kill(Bin bin) noexcept {
  const std::int64_t died = std::exchange(rows_[bin], 0);
  alive_[bin] = 0;
  live_ -= died;
  bury(bin, died);
  return died;
}

void EvictionQueue::bury(Bin bin, std::int64_t rows) noexcept {
  dead_ += rows;
  if (dead_rows_[bin] == 0) dead_bins_.push_back(bin);
  dead_rows_[bin] += rows;
}

EvictionQueue::Bin EvictionQueue::first() const noexcept {
  Bin best = 0;
  for (std::uint32_t bin = 1; bin < labels_; ++bin) {
    if (rows_[bin] == 0 || stamp_of(keys_[bin]) >= protected_) continue;
    if (best == 0 || keys_[bin] < keys_[best]) best = static_cast<Bin>(bin);
  }
  return best;
}

std::int64_t EvictionQueue::make_room(std::int64_t n) noexcept {
  std::int64_t died = 0;
  while (capacity_ > 0 && live_ + n > capacity_) {
    const Bin bin = first();
    if (bin == 0) break;
    if (importing()) dropped_below_ = std::max(dropped_below_, keys_[bin] + 1);
    died += kill(bin);
  }
  return died;
}

/// Rows die of age, or their uses count half.
std::int64_t EvictionQueue::start_step(Step step) noexcept {
  step = std::clamp<Step>(step, 0, kLastStep);
  coarse_ = false;
  dropped_below_ = 0;
  if (std::exchange(imported_, false) && step > 0) set_back(step);
  std::int64_t expired = 0;
  if (ttl_ > 0) {
    for (std::uint32_t bin = 1; bin < labels_; ++bin) {
      if (rows_[bin] > 0 && step - step_of(keys_[bin]) >= ttl_) expired += kill(Bin(bin));
    }
  }
  if (classes_ > 1 && half_life_ > 0) age(step);
  step_ = std::max(step_, step);
  draw_ = mix(static_cast<std::uint64_t>(step));
  // Each class has a stamp of its own within a batch: no two bins ever have the same key, not even
  // when classes become one.
  clock_ = std::max(clock_, static_cast<Key>(step) << kStepShift) + kClasses;
  return expired;
}

/// Rows may come from another program, or another run, with a clock that is ahead of this one's
/// steps: they would never grow old.
void EvictionQueue::set_back(Step step) noexcept {
  const Step ahead = step_of(clock_) - step;
  if (ahead <= 0) return;
  const Key by = static_cast<Key>(ahead) << kStepShift;
  for (std::uint32_t bin = 1; bin < labels_; ++bin) {
    keys_[bin] -= std::min(stamp_of(keys_[bin]), by);
  }
  clock_ -= by;
}

void EvictionQueue::age(Step step) noexcept {
  const Step halvings = step / half_life_ - step_of(clock_) / half_life_;
  if (halvings <= 0) return;
  Bin newest = 0;
  for (std::uint32_t bin = 1; bin < labels_; ++bin) {
    const Key lost = static_cast<Key>(std::min<Step>(halvings, class_of(keys_[bin])));
    keys_[bin] -= lost << kClassShift;
    if (rows_[bin] > 0 && stamp_of(keys_[bin]) >= stamp_of(keys_[newest])) newest = Bin(bin);
  }
  // An export must tell that this has happened even if the batch touches no row: the newest bin
  // gets a stamp of this step, before those of the batch.
  if (newest == 0) return;
  keys_[newest] = key_of(class_of(keys_[newest]), static_cast<Key>(step) << kStepShift);
}

std::size_t EvictionQueue::bins_in_use() const noexcept {
  return static_cast<std::size_t>(std::count_if(rows_.begin() + 1, rows_.begin() + labels_,
                                                [](std::int64_t rows) { return rows > 0; }));
}

std::vector<EvictionQueue::Group> EvictionQueue::groups() const {
  std::vector<Group> groups;
  for (std::uint32_t bin = 1; bin < labels_; ++bin) {
    if (rows_[bin] > 0) groups.push_back({keys_[bin], rows_[bin], {static_cast<Bin>(bin)}});
  }
  std::ranges::sort(groups, {}, &Group::key);
  return groups;
}

/// Neighbours of one class, and of one `span` of steps unless it is 0, that hold no more than a
/// grain together become one, the later one.
std::vector<EvictionQueue::Group> EvictionQueue::merged(std::vector<Group> groups,
                                                        std::int64_t grain, Step span) {
  const auto belong_together = [&](const Group& a, const Group& b) {
    return a.rows + b.rows <= grain && class_of(a.key) == class_of(b.key) &&
           (span == 0 || step_of(a.key) / span == step_of(b.key) / span);
  };
  std::vector<Group> result;
  for (Group& group : groups) {
    if (!result.empty() && belong_together(result.back(), group)) {
      Group& into = result.back();
      into.key = group.key;
      into.rows += group.rows;
      into.bins.insert(into.bins.end(), group.bins.begin(), group.bins.end());
    } else {
      result.push_back(std::move(group));
    }
  }
  return result;
}

/// Merges until there are few enough, with larger and larger grains if need be. Spans of steps are
/// kept apart as long as that is possible: it is with all keys that a table gives itself.
void EvictionQueue::merge(std::vector<Group>& groups, std::int64_t grain) const {
  std::int64_t rows = 0;
  for (const Group& group : groups) rows += group.rows;
  for (; groups.size() > kMergedBins; grain *= 2) {
    groups = merged(std::move(groups), grain, grain <= rows ? span() : 0);
  }
}

/// Of steps that a bin may cover; 0: any number.
Step EvictionQueue::span() const noexcept {
  return ttl_ > 0 ? std::max<Step>(1, ttl_ / kGrains) : 0;
}

bool EvictionQueue::plan_batch(std::int64_t n) {
  grain_ = grain_for(n);
  protected_ = clock_;
  const std::size_t used = bins_in_use();
  const bool full = capacity_ > 0 && live_ + n > capacity_;
  // Rows may come with equal keys by the million, from an import. Dropping them all for the sake
  // of one new row would be a poor kind of eviction: such a bin is split before its turn comes.
  const bool huge = full && rows_[first()] > 2 * grain_;
  if (labels_ + kBinsPerBatch < kBins && used <= kMergedBins && !huge) return false;

  std::vector<Group> bins = groups();
  merge(bins, grain_);
  if (huge && bins.front().bins.size() == 1) {
    bins.front().parts = static_cast<std::uint32_t>(std::min(bins.front().rows / grain_, kGrains));
    if (stamp_of(bins.front().key) < bins.front().parts) {  // no room for their keys below it
      for (Group& group : bins) group.key += Key{1} << kStepShift;
      protected_ = clock_ += Key{1} << kStepShift;
    }
  }
  renumber(bins);
  return true;
}

void EvictionQueue::renumber(const std::vector<Group>& groups) {
  renumbering_ = {};
  alive_ = {};
  std::array<Key, kBins> keys{};
  labels_ = 1;
  for (const Group& group : groups) {
    for (const Bin bin : group.bins) renumbering_.bin[bin] = static_cast<Bin>(labels_);
    if (group.parts > 1) {
      renumbering_.split = group.bins.front();
      renumbering_.parts = group.parts;
    }
    for (std::uint32_t part = 1; part <= group.parts; ++part) {
      alive_[labels_] = 1;
      keys[labels_++] = group.key - (group.parts - part);
    }
  }
  keys_ = keys;
}

void EvictionQueue::count(const RowsPerBin& rows) noexcept {
  rows_ = rows;
  rows_[0] = 0;
  // All the dead are in bin 0 now.
  dead_rows_ = {};
  dead_bins_.clear();
  const std::int64_t dead = std::exchange(dead_, 0);
  if (dead > 0) bury(0, dead);
}

/// The newest bin of each class takes the rows that are touched.
void EvictionQueue::find_current() noexcept {
  current_ = {};
  for (std::uint32_t bin = 1; bin < labels_; ++bin) {
    if (rows_[bin] == 0) continue;
    Bin& current = current_[class_of(keys_[bin])];
    if (current == 0 || keys_[bin] > keys_[current]) current = static_cast<Bin>(bin);
  }
}

void EvictionQueue::start_batch(std::int64_t n) noexcept {
  find_current();
  // Everything but the batch must be free to go if the batch needs the room: then it shares its
  // bins with nobody. With ttl a bin must not span too many steps.
  std::int64_t beside = 0;
  for (const Bin bin : current_) beside += rows_[bin];
  const bool too_old = span() > 0 && step_of(keys_[current_[0]]) / span() != step_ / span();
  if (too_old || (capacity_ > 0 && beside + n > capacity_)) current_ = {};
  for (unsigned level = 0; level < classes_; ++level) {
    const Bin bin = current_[level];
    if (bin != 0) keys_[bin] = key_of(level, clock_);
  }
}

/// Keys of another policy, or of a program of another kind, become such as this table could have. A
/// clock that no program reaches starts again from half of it: it must not run into the class.
EvictionQueue::Key EvictionQueue::adopted(Key key) const noexcept {
  constexpr Key kEnd = static_cast<Key>(kLastStep) << kStepShift;
  const Key level = std::min(class_of(key), classes_ - 1);
  const Key stamp = stamp_of(key);
  return (level << kClassShift) | (stamp < kEnd ? stamp : kEnd / 2);
}

bool EvictionQueue::plan_import(std::span<const Key> keys) {
  std::vector<Key> sorted;
  for (const Key key : keys) {
    const Key own = adopted(key);
    if (own >= dropped_below_) sorted.push_back(own);
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<Group> bins = groups();
  const auto known = [&](Key key) {
    const auto at = std::ranges::lower_bound(bins, key, {}, &Group::key);
    if (at == bins.end()) return false;
    return at->key == key || (coarse_ && class_of(at->key) == class_of(key));
  };
  std::vector<Group> missing;
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto end = std::upper_bound(first, sorted.end(), *first);
    if (!known(*first)) missing.push_back({*first, end - first, {}});
    first = end;
  }
  if (missing.empty()) return false;
  if (!coarse_ && labels_ + missing.size() <= kBins) {
    for (const Group& group : missing) {
      rows_[labels_] = 0;
      alive_[labels_] = 1;
      keys_[labels_++] = group.key;
    }
    return false;
  }
  std::move(missing.begin(), missing.end(), std::back_inserter(bins));
  std::ranges::sort(bins, {}, &Group::key);
  coarse_ = coarse_ || bins.size() >= kBins;
  if (coarse_) merge(bins, grain_for(static_cast<std::int64_t>(keys.size())));
  renumber(bins);
  return true;
}

void EvictionQueue::start_import() noexcept {
  by_key_.clear();
  for (std::uint32_t bin = 1; bin < labels_; ++bin) {
    if (alive_[bin] != 0) by_key_.emplace_back(keys_[bin], static_cast<Bin>(bin));
  }
  std::sort(by_key_.begin(), by_key_.end());
  for (const auto& [key, bin] : by_key_)
    clock_ = std::max(clock_, stamp_of(key) / kClasses * kClasses);
  protected_ = kNothing;
  imported_ = true;
}

EvictionQueue::Bin EvictionQueue::bin_of(Key key) const noexcept {
  const Key own = adopted(key);
  if (own < dropped_below_) return 0;
  const auto at = std::lower_bound(by_key_.begin(), by_key_.end(), std::pair{own, Bin{0}});
  if (at == by_key_.end() || dead(at->second)) return 0;
  return at->second;
}

}  // namespace satrap::store
