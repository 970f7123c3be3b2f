#include "data/window.hpp"

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "core/random.hpp"

namespace satrap::data {

namespace {

/// Fisher-Yates.
void permute(std::vector<Line>& lines, RandomSequence random) {
  for (std::size_t i = lines.size(); i > 1; --i) std::swap(lines[i - 1], lines[random.below(i)]);
}

}  // namespace

WindowedLines::WindowedLines(LineReader lines, std::int64_t window, bool shuffle,
                             std::uint64_t seed)
    : lines_(std::move(lines)), window_(window), shuffle_(shuffle), seed_(seed) {
  SATRAP_EXPECT(window > 0);
}

void WindowedLines::seek(Position position) {
  SATRAP_EXPECT(position.epoch >= 0 && position.sample >= 0);
  const std::int64_t first = position.sample - position.sample % window_;
  const bool is_loaded = position.epoch == epoch_ && first == first_ && loaded() > 0;
  if (!is_loaded) {
    if (first < lines_.row()) lines_.rewind();
    lines_.skip(first - lines_.row());
    epoch_ = position.epoch;
    unload();
    if (position.sample > first_) load_window();
  }
  cursor_ = std::min(position.sample - first_, loaded());
}

void WindowedLines::read(std::int64_t rows, Lines& out) {
  out.lines.clear();
  out.blocks.clear();
  while (rows > 0) {
    if (cursor_ == loaded()) load_window();
    if (loaded() == 0) return;
    const std::int64_t n = std::min(rows, loaded() - cursor_);
    const auto begin = text_.lines.begin() + cursor_;
    out.lines.insert(out.lines.end(), begin, begin + n);
    out.blocks.insert(out.blocks.end(), text_.blocks.begin(), text_.blocks.end());
    cursor_ += n;
    rows -= n;
  }
}

double WindowedLines::fraction() const noexcept {
  if (loaded() == 0) return lines_.fraction();
  const double share = static_cast<double>(cursor_) / static_cast<double>(loaded());
  return fraction_begin_ + (lines_.fraction() - fraction_begin_) * share;
}

/// Stands before the window that starts at lines_.row().
void WindowedLines::unload() {
  first_ = lines_.row();
  cursor_ = 0;
  text_.lines.clear();
  text_.blocks.clear();
}

/// Loads the window that starts at lines_.row(); an empty one at the end of the epoch.
void WindowedLines::load_window() {
  unload();
  fraction_begin_ = lines_.fraction();
  lines_.read(window_, text_);
  if (shuffle_) {
    // The substream holds the epoch above and the window's number below.
    const auto number = static_cast<std::uint64_t>(first_ / window_);
    const auto epoch = static_cast<std::uint64_t>(epoch_);
    permute(text_.lines, RandomSequence(seed_, RandomStream::shuffle, epoch << 40 | number));
  }
}

}  // namespace satrap::data
