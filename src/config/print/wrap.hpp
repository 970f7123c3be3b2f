#pragma once

#include <string>
#include <string_view>

namespace satrap::config {

inline constexpr std::size_t kPageWidth = 100;

/// `first` and then `text`, broken at blanks into lines of at most kPageWidth characters; lines
/// after the first start with `next`. Ends in a line end.
std::string wrap(std::string_view first, std::string_view next, std::string_view text);

}  // namespace satrap::config
