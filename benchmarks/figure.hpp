#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace satrap::bench {

/// A measured value beside what limits it, or what it is compared with, measured in turn with it.
struct Figure {
  std::string name;
  double value = 0;
  std::string unit;
  std::string peer;  ///< The limit, or the other way to do it.
  double peer_value = 0;
  std::optional<double> target;  ///< Of the ratio: what rates should reach and times stay below.
};

/// Four digits, or as many as a large number has.
inline std::string text_of(double value) {
  return value < 1000 ? fmt::format("{:.4g}", value) : fmt::format("{:.0f}", value);
}

/// bench,<name>,<value>,<unit>,<limit or peer>,<its value>,<ratio>,<target ratio, or - for none>
inline void print(const Figure& figure) {
  fmt::print("bench,{},{},{},{},{},{:.3f},{}\n", figure.name, text_of(figure.value), figure.unit,
             figure.peer, text_of(figure.peer_value), figure.value / figure.peer_value,
             figure.target ? fmt::format("{:.3g}", *figure.target) : "-");
  std::fflush(stdout);
}

/// Of at least one value; of an even number of them the upper one of the middle.
inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace satrap::bench
