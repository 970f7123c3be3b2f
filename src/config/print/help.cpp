#include "config/config.hpp"
#include "config/fields/sections.hpp"
#include "config/print/wrap.hpp"

namespace satrap::config {

namespace {

/// Where the explanations start.
constexpr std::size_t kColumn = 32;

template <class S>
std::string help_of(const Field<S>& field) {
  const std::string indent(kColumn, ' ');
  auto left = fmt::format("  {} = {}", field.key, field.default_text());
  auto text = fmt::format("{} [{}", field.meaning, field.values);
  if (!field.condition.text.empty()) text += fmt::format("; only {}", field.condition.text);
  text += ']';
  if (left.size() + 2 > kColumn) return left + '\n' + wrap(indent, indent, text);
  left.resize(kColumn, ' ');
  return wrap(left, indent, text);
}

template <class S>
std::string help_of_section(std::string_view title, std::string_view about) {
  auto text = fmt::format("\n[{}] {}\n", title, about);
  for (const auto& field : fields<S>()) text += help_of(field);
  return text;
}

}  // namespace

std::string help() {
  std::string text =
      "Keys of the config file, by [section], with their defaults. On the command line a key is\n"
      "--section.key=value and wins over the file. NAME is a name or a glob, e.g. [table.*]; "
      "later\n"
      "settings win over earlier ones. Lists are separated by commas. The value default takes an\n"
      "earlier setting back. A key that would have no effect is refused.\n";
  for_each_plain_section([&]<class S>(std::string_view section, auto about, S Config::*) {
    text += help_of_section<S>(section, about);
  });
  for_each_named_section(
      [&]<class S>(std::string_view section, auto about, std::vector<S> Config::*) {
        text += help_of_section<S>(fmt::format("{}.NAME", section), about);
      });
  return text;
}

}  // namespace satrap::config
