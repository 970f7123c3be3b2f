#include <fnmatch.h>

#include <algorithm>
#include <map>

#include "config/config.hpp"
#include "config/fields/sections.hpp"
#include "config/resolve/checks.hpp"
#include "config/resolve/keys.hpp"
#include "core/error.hpp"

namespace satrap::config {

namespace {

using Settings = std::vector<Setting>;

template <class S>
const Field<S>& find_field(std::string_view key) {
  const auto& all = fields<S>();
  return *std::find_if(all.begin(), all.end(), [&](const auto& field) { return field.key == key; });
}

/// Gives `section` the setting's value. `key` is the one it stands for in `origins`.
template <class S>
void assign(S& section, const Setting& setting, const std::string& key, Origins& origins) {
  const auto& field = find_field<S>(split_key(setting.key).name);
  if (setting.value == kDefaultValue) {
    field.reset(section);
    origins.forget(key);
    return;
  }
  try {
    field.set(section, setting.value);
  } catch (const BadValue& bad) {
    throw ConfigError(fmt::format("{} {}", subject(setting), bad.problem), {},
                      fmt::format("expected: {}", field.values));
  }
  origins.set(key, setting);
}

void assign_plain(Config& config, const Settings& settings, Origins& origins) {
  for (const auto& setting : settings)
    for_each_plain_section([&]<class S>(std::string_view section, auto, S Config::*member) {
      if (split_key(setting.key).section == section)
        assign(config.*member, setting, setting.key, origins);
    });
}

/// Slots or tables: each setting goes to all items whose names match its glob.
template <class S>
void assign_named(std::vector<S>& items, std::string_view section, const Settings& settings,
                  Origins& origins) {
  for (const auto& setting : settings) {
    const auto parts = split_key(setting.key);
    if (parts.section != section) continue;
    bool matched = false;
    for (auto& item : items) {
      if (fnmatch(std::string(parts.glob).c_str(), item.name.c_str(), FNM_NOESCAPE) != 0) continue;
      matched = true;
      assign(item, setting, fmt::format("{}.{}.{}", section, item.name, parts.name), origins);
    }
    if (matched) continue;
    std::vector<std::string_view> names;
    for (const auto& item : items) names.push_back(item.name);
    throw ConfigError(fmt::format("{} matches no {}", subject(setting), section),
                      fmt::format("there are {}", fmt::join(names, ", ")),
                      fmt::format("correct the name in [{}.{}]", section, parts.glob));
  }
}

[[noreturn]] void refuse_without_effect(const Setting& setting, std::string_view condition) {
  std::string remedy = "take it out";
  if (setting.where != kCommandLine) {  // It may have an effect in all runs but this one.
    remedy += fmt::format(", or give --{}={}", setting.key, kDefaultValue);
  }
  throw ConfigError(fmt::format("{} has no effect", subject(setting)),
                    fmt::format("it has one only {}", condition), remedy);
}

void refuse_plain_without_effect(const Config& config, const Origins& origins) {
  for_each_plain_section([&]<class S>(std::string_view section, auto, S Config::*member) {
    for (const auto& field : fields<S>()) {
      const auto* setting = origins.find(fmt::format("{}.{}", section, field.key));
      if (setting && !field.applies(config, config.*member))
        refuse_without_effect(*setting, field.condition.text);
    }
  });
}

/// A glob may reach tables in which its key has no effect, and is undone there, but not only those.
void refuse_table_settings_without_effect(Config& config, const Origins& origins) {
  for (const auto& field : fields<TableConfig>()) {
    std::map<const Setting*, bool> has_effect;
    for (auto& table : config.tables) {
      const auto* setting = origins.find(fmt::format("table.{}.{}", table.name, field.key));
      const bool applies = field.applies(config, table);
      if (!applies) field.reset(table);
      if (setting) has_effect[setting] |= applies;
    }
    for (const auto& [setting, effect] : has_effect)
      if (!effect) refuse_without_effect(*setting, field.condition.text);
  }
}

std::vector<SlotConfig> make_slots(const DataConfig& data) {
  constexpr int kCriteoSlots = 26;
  std::vector<SlotConfig> slots;
  const auto add = [&](const std::string& name) { slots.push_back({.name = name, .table = {}}); };
  if (data.format == DataFormat::criteo)
    for (int i = 1; i <= kCriteoSlots; ++i) add(fmt::format("C{}", i));
  else
    for (const auto& column : data.categorical) add(column);
  return slots;
}

/// One table for each name that slots use, in the order of first use.
std::vector<TableConfig> make_tables(const std::vector<SlotConfig>& slots) {
  std::vector<TableConfig> tables;
  for (const auto& slot : slots)
    if (std::none_of(tables.begin(), tables.end(),
                     [&](const auto& table) { return table.name == slot.table; }))
      tables.push_back({.name = slot.table});
  return tables;
}

}  // namespace

Config resolve(const Settings& settings, Files files) {
  Config config;
  Origins origins;
  for (const auto& setting : settings) check_key(setting);

  assign_plain(config, settings, origins);
  refuse_plain_without_effect(config, origins);
  complete_data(config, origins, files);
  complete_train(config, origins);
  complete_schedule(config, origins);

  config.slots = make_slots(config.data);
  assign_named(config.slots, "slot", settings, origins);
  for (auto& slot : config.slots)
    if (slot.table.empty()) slot.table = slot.name;
  check_names(config, origins);

  config.tables = make_tables(config.slots);
  assign_named(config.tables, "table", settings, origins);
  refuse_table_settings_without_effect(config, origins);

  check_model(config, origins);
  check_tables(config, origins);
  check_capacities(config, origins);
  return config;
}

std::int64_t Config::dense_features() const {
  constexpr std::int64_t kCriteoIntegers = 13;
  if (data.format == DataFormat::criteo) return kCriteoIntegers;
  return static_cast<std::int64_t>(data.numeric.size());
}

std::size_t Config::table_of_slot(std::size_t slot) const {
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const auto& table) {
    return table.name == slots.at(slot).table;
  });
  return static_cast<std::size_t>(found - tables.begin());
}

std::int64_t Config::slots_of_table(std::size_t table) const {
  return std::count_if(slots.begin(), slots.end(),
                       [&](const auto& slot) { return slot.table == tables.at(table).name; });
}

std::int64_t Config::most_rows(std::size_t table, std::int64_t samples) const {
  const auto& stack = tables.at(table);
  const std::int64_t rows = samples * slots_of_table(table) * stack.rows_per_id();
  return stack.hash_rows > 0 ? std::min(rows, stack.hash_rows * stack.hash_buckets) : rows;
}

}  // namespace satrap::config
