#pragma once

#include <algorithm>
#include <cstdint>

namespace satrap::comm::detail {

/// MPI counts are int: the elements that one call moves at most.
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 30;

/// Calls piece(begin, count) for consecutive pieces of [0, total), each of at most `limit`.
template <class Piece>
void for_each_piece(std::int64_t total, std::int64_t limit, Piece piece) {
  for (std::int64_t begin = 0; begin < total; begin += limit) {
    piece(begin, static_cast<int>(std::min(limit, total - begin)));
  }
}

}  // namespace satrap::comm::detail
