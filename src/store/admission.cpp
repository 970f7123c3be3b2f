#include "store/admission.hpp"

#include <algorithm>
#include <utility>

namespace satrap::store {

AppearanceCounter::AppearanceCounter(std::string owner, std::int64_t window)
    : arena_(std::move(owner)),
      lines_((std::max<std::int64_t>(window, 1) + std::int64_t{kCells} - 1) /
             std::int64_t{kCells}) {
  const std::size_t blocks =
      (static_cast<std::size_t>(lines_) + kLinesPerBlock - 1) / kLinesPerBlock;
  for (std::size_t i = 0; i < blocks; ++i) {
    blocks_.push_back(reinterpret_cast<Line*>(arena_.allocate()));
  }
}

bool AppearanceCounter::count(std::uint64_t hash, unsigned needed) noexcept {
  Line& cells = line(hash);
  // The line took the upper bits, the fingerprint takes the lowest.
  const auto fingerprint = static_cast<std::uint16_t>(hash << 4);
  std::size_t at = kCells;
  for (std::size_t i = kCells; i-- > 0;) {  // without a way out: vectorised
    if ((cells[i] & 0xfff0U) == fingerprint && cells[i] != 0) at = i;
  }
  unsigned seen = 1;
  if (at < kCells) {
    seen += cells[at] & 0xfU;
    if (seen >= needed) {
      std::copy(cells.begin() + static_cast<std::ptrdiff_t>(at) + 1, cells.end(),
                cells.begin() + static_cast<std::ptrdiff_t>(at));
      cells.back() = 0;
      return true;
    }
  } else {
    if (seen >= needed) return true;
    at = kCells - 1;
  }
  std::copy_backward(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(at),
                     cells.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  cells.front() = static_cast<std::uint16_t>(fingerprint | std::min(seen, kMost));
  return false;
}

void AppearanceCounter::save(std::vector<std::uint16_t>& cells) const {
  cells.clear();
  cells.reserve(static_cast<std::size_t>(lines_) * kCells);
  for (std::size_t i = 0; i < static_cast<std::size_t>(lines_); ++i) {
    cells.insert(cells.end(), at_line(i).begin(), at_line(i).end());
  }
}

bool AppearanceCounter::restore(std::span<const std::uint16_t> cells) noexcept {
  if (cells.size() != static_cast<std::size_t>(lines_) * kCells) return false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(lines_); ++i) {
    std::copy_n(&cells[i * kCells], kCells, at_line(i).begin());
  }
  return true;
}

}  // namespace satrap::store
