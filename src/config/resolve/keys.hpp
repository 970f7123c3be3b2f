#pragma once

#include <string_view>

#include "config/config.hpp"

namespace satrap::config {

/// A key taken apart: section "table", glob "C*", name "dim"; plain sections have no glob.
struct KeyParts {
  std::string_view section;
  std::string_view glob;
  std::string_view name;
};

/// Never fails; parts that are missing are empty. A glob may hold dots.
KeyParts split_key(std::string_view key) noexcept;

/// Throws ConfigError, with the nearest known key, unless the setting's key is in a field table.
void check_key(const Setting& setting);

}  // namespace satrap::config
