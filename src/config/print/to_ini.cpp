#include <algorithm>
#include <map>

#include "config/config.hpp"
#include "config/fields/sections.hpp"
#include "config/print/wrap.hpp"

namespace satrap::config {

namespace {

std::string comment(std::string_view text) {
  return wrap("# ", "# ", text);
}

std::string assignment(std::string_view key, std::string_view value) {
  return value.empty() ? fmt::format("{} =\n", key) : fmt::format("{} = {}\n", key, value);
}

template <class S>
std::string without_effect(const Field<S>& field) {
  return comment(fmt::format("{}: only {}.", field.key, field.condition.text));
}

template <class S>
std::string plain_section(std::string_view name, std::string_view about, const Config& config,
                          const S& section) {
  auto text = fmt::format("\n[{}]\n{}", name, comment(about));
  std::string idle;
  for (const auto& field : fields<S>()) {
    if (field.applies(config, section))
      text += '\n' + comment(field.meaning) + assignment(field.key, field.text(section));
    else
      idle += without_effect(field);
  }
  return idle.empty() ? text : text + '\n' + idle;
}

/// The text that most of `values` have, the earliest of equals.
std::string most_common(const std::vector<std::string>& values) {
  std::map<std::string, std::ptrdiff_t> count;
  for (const auto& value : values) ++count[value];
  return *std::max_element(values.begin(), values.end(),
                           [&](const auto& a, const auto& b) { return count.at(a) < count.at(b); });
}

/// [name.*] with what most items have, then a section for each item that differs.
template <class S>
std::string named_sections(std::string_view name, std::string_view about, const Config& config,
                           const std::vector<S>& items) {
  auto text = fmt::format("\n[{}.*]\n{}", name, comment(about));
  std::string idle;
  std::map<const S*, std::string> differences;
  for (const auto& field : fields<S>()) {
    std::vector<std::string> values;
    for (const auto& item : items)
      if (field.applies(config, item)) values.push_back(field.text(item));
    if (values.empty()) {
      idle += without_effect(field);
      continue;
    }
    const auto common = most_common(values);
    text += '\n' + comment(field.meaning) + assignment(field.key, common);
    for (const auto& item : items)
      if (field.applies(config, item) && field.text(item) != common)
        differences[&item] += assignment(field.key, field.text(item));
  }
  if (!idle.empty()) text += '\n' + idle;
  for (const auto& item : items)
    if (const auto found = differences.find(&item); found != differences.end())
      text += fmt::format("\n[{}.{}]\n{}", name, item.name, found->second);
  return text;
}

/// A slot's own table is what no setting gives.
void forget_own_tables(std::vector<SlotConfig>& slots) {
  for (auto& slot : slots)
    if (slot.table == slot.name) slot.table.clear();
}

}  // namespace

std::string to_ini(const Config& resolved) {
  Config config = resolved;
  forget_own_tables(config.slots);
  auto text = comment(
      "The whole configuration of a run, defaults included. Keys that have no effect in it are "
      "named in comments.");
  for_each_plain_section([&]<class S>(std::string_view name, auto about, S Config::*member) {
    text += plain_section(name, about, config, config.*member);
  });
  for_each_named_section(
      [&]<class S>(std::string_view name, auto about, std::vector<S> Config::*member) {
        text += named_sections(name, about, config, config.*member);
      });
  return text;
}

}  // namespace satrap::config
