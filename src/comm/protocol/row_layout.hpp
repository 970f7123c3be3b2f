#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace satrap::comm {

/// Where the rows of a batch stand in its slot of the landing zone, and its gradients in their
/// buffer:
///
///     | rows of table 0 [unique_0, dim_0] | pad to 64 bytes | rows of table 1 ... |
struct RowLayout {
  std::vector<std::int64_t> offset;  ///< [tables] in floats, a multiple of 16
  std::int64_t floats = 0;           ///< Length of the whole.

  /// From the number of unique rows [tables] and the dims [tables].
  RowLayout(std::span<const std::int64_t> unique, std::span<const std::int64_t> dims) {
    constexpr std::int64_t kAlign = 16;
    offset.reserve(unique.size());
    for (std::size_t t = 0; t < unique.size(); ++t) {
      offset.push_back(floats);
      floats += (unique[t] * dims[t] + kAlign - 1) / kAlign * kAlign;
    }
  }
  RowLayout() = default;
};

}  // namespace satrap::comm
