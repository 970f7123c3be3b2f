#include "config/resolve/keys.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "config/fields/sections.hpp"
#include "config/resolve/nearest.hpp"
#include "core/error.hpp"

namespace satrap::config {

namespace {

struct KnownKeys {
  std::vector<std::string> all;         ///< In full, with the glob of the key in question.
  std::vector<std::string> of_section;  ///< Names of the keys of its section.
  std::vector<std::string> sections;    ///< As they are written: "job", "table.NAME".
};

KnownKeys known_keys(const KeyParts& parts) {
  KnownKeys known;
  const auto add = [&](std::string_view section, std::string_view prefix, const auto& fields) {
    for (const auto& field : fields) {
      known.all.push_back(fmt::format("{}.{}", prefix, field.key));
      if (section == parts.section) known.of_section.emplace_back(field.key);
    }
  };
  for_each_plain_section([&]<class S>(std::string_view section, auto, S Config::*) {
    known.sections.emplace_back(section);
    add(section, section, fields<S>());
  });
  for_each_named_section([&]<class S>(std::string_view section, auto, std::vector<S> Config::*) {
    known.sections.push_back(fmt::format("{}.NAME", section));
    const auto glob = parts.glob.empty() ? "*" : parts.glob;
    add(section, fmt::format("{}.{}", section, glob), fields<S>());
  });
  return known;
}

}  // namespace

KeyParts split_key(std::string_view key) noexcept {
  const auto first = key.find('.');
  if (first == key.npos) return {{}, {}, key};
  const auto last = key.rfind('.');
  KeyParts parts{key.substr(0, first), {}, key.substr(last + 1)};
  if (last > first) parts.glob = key.substr(first + 1, last - first - 1);
  return parts;
}

void check_key(const Setting& setting) {
  const auto parts = split_key(setting.key);
  const auto known = known_keys(parts);
  if (std::find(known.all.begin(), known.all.end(), setting.key) != known.all.end()) return;
  const auto hint = known.of_section.empty()
                        ? fmt::format("the sections are {}", fmt::join(known.sections, ", "))
                        : fmt::format("the keys of {} are {}", shown(parts.section),
                                      fmt::join(known.of_section, ", "));
  throw ConfigError(fmt::format("{}: unknown key {}", setting.where, shown(setting.key)), {},
                    did_you_mean(setting.key, known.all, hint));
}

}  // namespace satrap::config
