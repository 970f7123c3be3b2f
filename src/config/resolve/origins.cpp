#include "config/resolve/origins.hpp"

#include "config/value.hpp"
#include "core/error.hpp"

namespace satrap::config {

const Setting* Origins::find(const std::string& key) const {
  const auto found = settings_.find(key);
  return found == settings_.end() ? nullptr : found->second;
}

void Origins::refuse(const std::string& key, std::string_view problem, std::string_view why,
                     std::string_view remedy) const {
  const Setting* setting = find(key);
  throw ConfigError(fmt::format("{} {}", setting ? subject(*setting) : key, problem), why, remedy);
}

std::string subject(const Setting& setting) {
  return fmt::format("{}: {} = {}", setting.where, shown(setting.key), shown(setting.value));
}

}  // namespace satrap::config
