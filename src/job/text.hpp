#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/text.hpp"

namespace satrap::job {

// How numbers are written for people.

/// 3:07 or 2:03:07
std::string duration(double seconds);
/// With `digits` behind the point, or "undefined".
std::string number(const std::optional<double>& value, int digits);
/// 1.5 GB; powers of 1000.
std::string bytes(std::int64_t value);

/// A line of the summary: what it tells of, in a column, and what it tells.
std::string line(std::string_view what, const std::string& text);

/// One line on stdout, at once.
void say(const std::string& line);

}  // namespace satrap::job
