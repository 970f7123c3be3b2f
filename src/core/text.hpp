#pragma once

#include <cstdint>
#include <string>

namespace satrap {

/// 1,234,567, for people.
std::string grouped(std::int64_t value);

}  // namespace satrap
