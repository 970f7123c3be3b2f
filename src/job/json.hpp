#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace satrap::job {

/// What is undefined is null.
inline nlohmann::json or_null(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

}  // namespace satrap::job
