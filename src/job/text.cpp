#include "job/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace satrap::job {

std::string duration(double seconds) {
  const auto total = static_cast<std::int64_t>(std::max(0.0, seconds) + 0.5);
  if (total >= 3600) {
    return fmt::format("{}:{:02}:{:02}", total / 3600, total / 60 % 60, total % 60);
  }
  return fmt::format("{}:{:02}", total / 60, total % 60);
}

std::string number(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : std::string("undefined");
}

std::string bytes(std::int64_t value) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  auto scaled = static_cast<double>(value);
  std::size_t unit = 0;
  while (scaled >= 1000 && unit + 1 < std::size(kUnits)) {
    scaled /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", scaled, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string line(std::string_view what, const std::string& text) {
  return fmt::format("{:<15}{}\n", what, text);
}

void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace satrap::job
