#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace satrap::store {

/// Which rows were used longest ago, in one byte per row: least-recently-used order, exact up to
/// 1/32 of the table.
///
/// Rows live in bins. A row that is touched moves to the current bin, the newest; when that holds a
/// grain of rows (1/32 of the capacity), a new one is opened. Making room drops the oldest bin as a
/// whole: its rows are dead from then on, wherever they lie, and their memory is taken when it is
/// needed. Nothing is sampled or chained, and who is evicted follows from the bins alone, not from
/// where rows lie or how they came there: a table that was exported and imported evicts the same
/// rows.
///
///     bin     0 ....... | oldest .......................... current
///     rows    dead      | at most a grain each, fewer as rows are touched and move on
///
/// A bin is an 8-bit number in the entry of the row. When the numbers run out, the bins in use are
/// numbered from 1 again; when many are in use, small neighbours are merged. Not thread-safe.
class Recency {
 public:
  using Bin = std::uint8_t;
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

  /// `capacity` in rows; 0: no limit.
  explicit Recency(std::int64_t capacity) noexcept : capacity_(capacity) {}

  bool dead(Bin bin) const noexcept { return bin < oldest_; }
  /// Rows in lower bins are dead.
  Bin oldest() const noexcept { return oldest_; }
  /// Rows that are not dead.
  std::int64_t live() const noexcept { return live_; }

  /// Comes before `n` distinct rows are touched or added. `sweep(renumbering)`, called when needed,
  /// gives all rows their new bins and returns the rows of each. The rows touched from here on are
  /// safe from make_room until the next batch.
  template <class Sweep>
  void begin_batch(std::int64_t n, Sweep&& sweep) {
    if (plan_batch(n)) count(sweep(renumbering_));
    start_batch(n);
  }

  /// A live row of `from` is touched: its new bin.
  Bin touch(Bin from) noexcept {
    if (from == current_) return from;
    leave(from);
    return enter(next());
  }
  /// The bin that the next row to be touched or added enters.
  Bin next() noexcept {
    if (rows_[current_] >= grain_ && current_ < kBins - 1) open();
    return current_;
  }
  /// A row comes to a bin, or leaves it.
  Bin enter(Bin bin) noexcept {
    ++rows_[bin];
    ++live_;
    return bin;
  }
  void leave(Bin bin) noexcept {
    --rows_[bin];
    --live_;
  }

  /// Drops bins, oldest first, until `n` rows more fit the capacity or no more may be dropped;
  /// returns how many rows died.
  std::int64_t make_room(std::int64_t n) noexcept;

  /// For export: the stamp of the rows of a bin; later bins have larger ones.
  std::uint32_t stamp(Bin bin) const noexcept { return stamps_[bin]; }

  /// For import: sees to it that there are bins for rows with these stamps. As begin_batch.
  template <class Sweep>
  void admit(std::span<const std::uint32_t> stamps, Sweep&& sweep) {
    if (plan_import(stamps)) count(sweep(renumbering_));
    start_import();
  }
  /// The bin for an admitted stamp; a dead one if it has been dropped since.
  Bin bin_of(std::uint32_t stamp) const noexcept;

 private:
  /// Bins that become one, or one that becomes `parts`.
  struct Group {
    std::uint32_t stamp;
    std::int64_t rows;
    Bin first, last;  ///< The present bins; first > last: a bin to be made.
    std::uint32_t parts = 1;
  };

  bool plan_batch(std::int64_t n);
  void start_batch(std::int64_t n) noexcept;
  bool plan_import(std::span<const std::uint32_t> stamps);
  void start_import() noexcept;
  std::vector<Group> groups() const;
  static std::vector<Group> merged(const std::vector<Group>& groups, std::int64_t grain);
  void renumber(const std::vector<Group>& groups);
  void count(const RowsPerBin& rows) noexcept;
  void open() noexcept;
  std::int64_t grain_for(std::int64_t n) const noexcept;

  std::int64_t capacity_;
  std::int64_t grain_ = 1;
  std::int64_t live_ = 0;
  std::uint32_t clock_ = 0;  ///< The stamp of the current bin.
  Bin oldest_ = 1;
  Bin current_ = 1;
  Bin protected_ = 1;                ///< From here on bins may not be dropped.
  bool coarse_ = false;              ///< The import has more stamps than bins.
  std::int64_t dropped_stamp_ = -1;  ///< Rows of an import that are not later are dead on arrival.
  RowsPerBin rows_{};
  std::array<std::uint32_t, kBins> stamps_{};
  Renumbering renumbering_;
};

}  // namespace satrap::store
