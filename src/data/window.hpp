#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.hpp"
#include "data/line_reader.hpp"

namespace satrap::data {

/// The rows of some files in the order of the epochs: consecutive windows of `window` rows in file
/// order, each permuted by a generator keyed by (seed, epoch, number of the window) if `shuffle`
/// is set. Holds one window of text. Not thread-safe.
class WindowedLines {
 public:
  WindowedLines(LineReader lines, std::int64_t window, bool shuffle, std::uint64_t seed);

  /// As SampleReader::seek.
  void seek(Position position);
  Position position() const noexcept { return {epoch_, first_ + cursor_}; }

  /// Replaces `out` by the next `rows` rows of this epoch, fewer at its end.
  void read(std::int64_t rows, Lines& out);

  double fraction() const noexcept;
  std::string where(const Line& line) const { return lines_.where(line); }

 private:
  void unload();
  void load_window();
  std::int64_t loaded() const noexcept { return static_cast<std::int64_t>(text_.lines.size()); }

  LineReader lines_;
  std::int64_t window_;
  bool shuffle_;
  std::uint64_t seed_;

  std::int64_t epoch_ = 0;
  std::int64_t first_ = 0;   ///< Row of the epoch that starts the loaded window.
  std::int64_t cursor_ = 0;  ///< Rows of the window that have been read.
  Lines text_;               ///< The window, in the epoch's order.
  double fraction_begin_ = 0;
};

}  // namespace satrap::data
