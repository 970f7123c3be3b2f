#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "config/config.hpp"
#include "core/error.hpp"

namespace satrap::config {

/// Resolves INI text with settings of the command line on top.
inline Config resolved(std::string_view text, const std::vector<std::string>& args = {}) {
  auto settings = parse_ini(text, "x.ini");
  const auto more = parse_command_line(args).settings;
  settings.insert(settings.end(), more.begin(), more.end());
  return resolve(settings);
}

/// The message of the ConfigError that `run` throws.
inline std::string refusal(const std::function<void()>& run) {
  try {
    run();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing was refused";
}

inline constexpr std::string_view kCriteo = "[data]\ntrain = t.tsv\n";

inline constexpr std::string_view kCsv =
    "[data]\n"
    "format = csv\n"
    "train = t.csv\n"
    "columns = age, job, city, y\n"
    "categorical = job, city\n"
    "numeric = age\n"
    "label = y\n";

inline std::string with(std::string_view base, std::string_view more) {
  return std::string(base) + std::string(more);
}

}  // namespace satrap::config
