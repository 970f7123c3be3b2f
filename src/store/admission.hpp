#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "config/config.hpp"
#include "core/types.hpp"
#include "store/arena.hpp"
#include "store/prefetch.hpp"

namespace satrap::store {

/// Counts the appearances of ids that have no row yet, two bytes per id. Each id has a line of 32
/// cells, in the order in which their ids were last seen; a new one pushes out the last.
///
///     15 .......... 4 | 3 ... 0
///     fingerprint     | count      0: a free cell
///
/// So an id is counted as long as fewer than 32 others of its line come between two appearances:
/// on average as many distinct ids as there are cells. Its first appearance is taken for another
/// id's when one of the line has its fingerprint: at most 31 / 4096 of ids are admitted too early.
/// Not thread-safe.
class AppearanceCounter {
 public:
  static constexpr unsigned kMost = 15;  ///< Counts end here.
  static constexpr std::int64_t kBytesPerId = 2;
  static constexpr double kFalseRate = 31.0 / 4096.0;

  /// For `window` ids, below 2^36, rounded up to whole lines.
  AppearanceCounter(std::string owner, std::int64_t window);

  /// Counts an appearance of the id with this hash. True if it is number `needed` or more: then the
  /// id is forgotten.
  bool count(std::uint64_t hash, unsigned needed) noexcept;
  void prefetch(std::uint64_t hash) const noexcept { prefetch_line(line(hash).data()); }

  std::int64_t lines() const noexcept { return lines_; }
  /// Allocated.
  std::int64_t bytes() const noexcept { return arena_.bytes(); }

  /// All cells [lines, 32], to be kept and put back.
  void save(std::vector<std::uint16_t>& cells) const;
  /// False, changing nothing, if there are fewer or more of them.
  bool restore(std::span<const std::uint16_t> cells) noexcept;

 private:
  static constexpr std::size_t kCells = 32;
  using Line = std::array<std::uint16_t, kCells>;
  static_assert(sizeof(Line) == 64);
  static constexpr std::size_t kLinesPerBlock = Arena::kBlockBytes / sizeof(Line);

  Line& line(std::uint64_t hash) const noexcept {
    // The upper half of the product spreads the hash over any number of lines.
    const std::uint64_t at = (hash >> 32) * static_cast<std::uint64_t>(lines_) >> 32;
    return at_line(at);
  }
  Line& at_line(std::uint64_t at) const noexcept {
    return blocks_[at / kLinesPerBlock][at % kLinesPerBlock];
  }

  Arena arena_;
  std::int64_t lines_;
  std::vector<Line*> blocks_;
};

}  // namespace satrap::store
