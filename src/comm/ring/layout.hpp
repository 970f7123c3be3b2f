#pragma once

#include <cstdint>
#include <vector>

#include "comm/ring/ring.hpp"

namespace satrap::comm {

/// Where everything lies in the windows of a fabric; a function of the links alone, so that every
/// rank knows it of every other. Offsets in bytes, multiples of 64.
///
///     | control lines of rings to me | credit lines of rings from me | rings to me | landing zone
///     |
class Layout {
 public:
  /// Throws InternalError for a link between ranks that are not in [0, ranks), of a size that is no
  /// multiple of 64 or below 4096, or given twice.
  Layout(const std::vector<Link>& links, int ranks);

  struct Place {
    std::int64_t control;  ///< In the window of `to`: a line with the tail.
    std::int64_t ring;     ///< In the window of `to`.
    std::int64_t credit;   ///< In the window of `from`: a line with the head.
  };
  const Place& of_link(std::size_t link) const noexcept { return places_[link]; }
  /// Where the landing zone of `rank` starts: the end of its rings.
  std::int64_t landing(int rank) const noexcept { return landing_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<Place> places_;  ///< One per link.
  std::vector<std::int64_t> landing_;
};

}  // namespace satrap::comm
