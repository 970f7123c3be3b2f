#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "config/config.hpp"
#include "core/hash.hpp"
#include "core/types.hpp"

namespace satrap::store {

/// Which rows are evicted first, in one byte per row: the order of the policy, exact up to 1/32 of
/// the table.
///
/// Rows live in bins, each with a key: the bin with the smallest key goes first. A row that is
/// touched moves to the current bin of its class; when that holds a grain of rows (1/32 of the
/// capacity), a new one is opened. To make room the first bin dies as a whole: its rows are dead
/// from then on, wherever they lie, and their memory is taken when it is needed. Nothing is sampled
/// or chained, and who is evicted follows from the bins' keys and rows alone, not from where rows
/// lie or how they came there: a table that was exported and imported evicts the same rows.
///
///     key     63 ..... 56 | 55 ............ 16 | 15 .......... 0
///             class       | step of last touch | order within it
///
/// lru and ttl have one class. With ttl a bin also covers no more than 1/32 of the ttl in steps,
/// and dies at that age. With lfu rows of class c have been used about 2^c times (a row goes up
/// with probability 2^-c; Morris 1978), so the least used go first, among those the longest unused;
/// each half-life takes all rows down by a class.
///
/// A bin is an 8-bit number in the index entry of the row, in no order. When the numbers run out,
/// bins in use are numbered anew, and when many are in use, small neighbours are merged. Not
/// thread-safe.
class EvictionQueue {
 public:
  using Bin = std::uint8_t;  ///< 0: dead.
  using Key = std::uint64_t;
  static constexpr std::size_t kBins = 256;
  using RowsPerBin = std::array<std::int64_t, kBins>;

  /// New bins for all rows: bin b becomes bin[b], and the rows of `split` are spread over `parts`
  /// bins from there on, by their fingerprints.
  struct Renumbering {
    std::array<Bin, kBins> bin{};
    Bin split = 0;
    std::uint32_t parts = 1;

    Bin operator()(Bin from, std::uint8_t fingerprint) const noexcept {
      return static_cast<Bin>(bin[from] + (from == split ? fingerprint * parts / 256 : 0));
    }
  };

  /// Policy, ttl and half-life of `config`; `capacity` in rows, 0: no limit.
  EvictionQueue(const config::TableConfig& config, std::int64_t capacity);

  bool dead(Bin bin) const noexcept { return alive_[bin] == 0; }
  /// Rows that are not dead, and dead ones that still are in the index.
  std::int64_t live() const noexcept { return live_; }
  std::int64_t dead() const noexcept { return dead_; }
  std::int64_t capacity() const noexcept { return capacity_; }

  /// Comes before `n` distinct rows are touched or added in `step`. `sweep(renumbering)`, called
  /// when needed, gives all rows their new bins and returns the rows of each. Returns how many rows
  /// died of age. The rows touched from here on are safe from make_room until the next batch.
  template <class Sweep>
  std::int64_t begin_batch(std::int64_t n, Step step, Sweep&& sweep) {
    const std::int64_t expired = start_step(step);
    if (plan_batch(n)) count(sweep(renumbering_));
    start_batch(n);
    return expired;
  }

  /// A live row of `from` is touched: its new bin. `hash` is its id's.
  Bin touch(Bin from, std::uint64_t hash) noexcept {
    const unsigned level = classes_ == 1 ? 0 : class_after_use(from, hash);
    if (from == current_[level]) return from;
    leave(from);
    return enter(next(level));
  }
  /// The bin that the next new row enters.
  Bin next() noexcept { return next(0); }
  /// A row comes to a bin, or leaves it; `bin` is alive.
  Bin enter(Bin bin) noexcept {
    ++rows_[bin];
    ++live_;
    return bin;
  }
  void leave(Bin bin) noexcept {
    --rows_[bin];
    --live_;
  }
  /// A row that has left its bin died: it is in bin 0 now.
  void died() noexcept { bury(0, 1); }
  /// A dead row of `bin` has left the index, or came back to life.
  void reclaimed(Bin bin) noexcept {
    --dead_;
    if (--dead_rows_[bin] == 0) std::erase(dead_bins_, bin);
  }
  /// The bins of dead rows that still are in the index: few, mostly one.
  std::span<const Bin> dead_bins() const noexcept { return dead_bins_; }

  /// Kills bins, first ones first, until `n` rows more fit the capacity or no more may be dropped;
  /// returns how many rows died.
  std::int64_t make_room(std::int64_t n) noexcept;

  /// For export: the key of the rows of a bin.
  Key key(Bin bin) const noexcept { return keys_[bin]; }

  /// For import: sees to it that there are bins for rows with these keys. As begin_batch.
  template <class Sweep>
  void admit(std::span<const Key> keys, Sweep&& sweep) {
    if (plan_import(keys)) count(sweep(renumbering_));
    start_import();
  }
  /// The bin for an admitted key; a dead one if its turn has come since.
  Bin bin_of(Key key) const noexcept;

 private:
  /// Bins that become one, or one that becomes `parts`.
  struct Group {
    Key key;
    std::int64_t rows;
    std::vector<Bin> bins;  ///< The present ones; none: a bin to be made.
    std::uint32_t parts = 1;
  };
  static constexpr unsigned kClasses = 8;
  static constexpr unsigned kClassShift = 56;
  static constexpr unsigned kStepShift = 16;

  /// Steps beyond count as this one: the clock must not run into the class.
  static constexpr Step kLastStep = (Step{1} << 40) - (Step{1} << 32);
  static constexpr Key kNothing = std::numeric_limits<Key>::max();

  /// Each class has a stamp of its own in a batch that starts at `clock`, a multiple of kClasses.
  static Key key_of(unsigned level, Key clock) noexcept {
    return (Key{level} << kClassShift) | (clock + level);
  }
  static unsigned class_of(Key key) noexcept { return static_cast<unsigned>(key >> kClassShift); }
  static Key stamp_of(Key key) noexcept { return key & ((Key{1} << kClassShift) - 1); }
  static Step step_of(Key key) noexcept { return static_cast<Step>(stamp_of(key) >> kStepShift); }

  bool importing() const noexcept { return protected_ == kNothing; }
  unsigned class_after_use(Bin from, std::uint64_t hash) const noexcept {
    const unsigned level = class_of(keys_[from]);
    const bool rises = (mix(hash ^ draw_) & ((1U << level) - 1)) == 0;
    return level + (rises && level + 1 < kClasses ? 1 : 0);
  }
  Bin next(unsigned level) noexcept {
    if (current_[level] == 0 || (rows_[current_[level]] >= grain_ && labels_ < kBins)) open(level);
    return current_[level];
  }

  std::int64_t start_step(Step step) noexcept;
  void set_back(Step step) noexcept;
  void age(Step step) noexcept;
  bool plan_batch(std::int64_t n);
  void start_batch(std::int64_t n) noexcept;
  void find_current() noexcept;
  Key adopted(Key key) const noexcept;
  bool plan_import(std::span<const Key> keys);
  void start_import() noexcept;
  std::vector<Group> groups() const;
  void merge(std::vector<Group>& groups, std::int64_t grain) const;
  static std::vector<Group> merged(std::vector<Group> groups, std::int64_t grain, Step span);
  Step span() const noexcept;
  void renumber(const std::vector<Group>& groups);
  void count(const RowsPerBin& rows) noexcept;
  void open(unsigned level) noexcept;
  std::int64_t kill(Bin bin) noexcept;
  void bury(Bin bin, std::int64_t rows) noexcept;
  Bin first() const noexcept;
  std::size_t bins_in_use() const noexcept;
  std::int64_t grain_for(std::int64_t n) const noexcept;

  config::Eviction policy_;
  std::int64_t capacity_;
  Step ttl_;
  Step half_life_;
  unsigned classes_;
  std::int64_t grain_ = 1;
  std::int64_t live_ = 0;
  std::int64_t dead_ = 0;
  Key clock_ = Key{1} << kStepShift;  ///< The stamp of the batch.
  /// Bins with this stamp or a later one may not be dropped; kNothing: an import goes on.
  Key protected_ = 0;
  Step step_ = 0;
  std::uint64_t draw_ = 0;  ///< What chance has to do with the step.
  std::array<Bin, kClasses> current_{};
  std::uint32_t labels_ = 1;  ///< Bins below have been used since the last renumbering.
  std::array<std::uint8_t, kBins> alive_{};
  RowsPerBin rows_{};
  RowsPerBin dead_rows_{};
  std::vector<Bin> dead_bins_;
  std::array<Key, kBins> keys_{};
  bool coarse_ = false;    ///< The import has more keys than there are bins.
  Key dropped_below_ = 0;  ///< Rows of an import with a smaller key are dead on arrival.
  std::vector<std::pair<Key, Bin>> by_key_;  ///< For import: the bins in order.
  bool imported_ = false;                    ///< Since the last batch.
  Renumbering renumbering_;
};

}  // namespace satrap::store
