#pragma once

#include <map>
#include <string>
#include <string_view>

#include "config/config.hpp"

namespace satrap::config {

/// Which setting gave each key its value, for checks that ask what the user wrote and for messages
/// that say where. Keys of tables and slots are those of one of them: "table.C1.lr". Settings must
/// outlive it.
class Origins {
 public:
  void set(const std::string& key, const Setting& setting) { settings_[key] = &setting; }
  void forget(const std::string& key) { settings_.erase(key); }

  /// Null if nobody gave the key.
  const Setting* find(const std::string& key) const;

  /// Throws the ConfigError "where: key = value <problem> (why); remedy", or "key <problem> ..." if
  /// the key has its default.
  [[noreturn]] void refuse(const std::string& key, std::string_view problem, std::string_view why,
                           std::string_view remedy) const;

 private:
  std::map<std::string, const Setting*> settings_;
};

/// "where: key = value", the start of messages; a long value is cut.
std::string subject(const Setting& setting);

}  // namespace satrap::config
