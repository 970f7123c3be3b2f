#include <algorithm>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "config/config.hpp"
#include "config/value.hpp"
#include "core/error.hpp"

namespace satrap::config {

namespace {

/// Boost's parser joins sections and keys, but keeps no line numbers and cuts values at every '#'.
/// So it is given the number of its line as the value of each key; the values themselves wait here.
struct LineIndex {
  std::string name;                          ///< Of the file, for messages.
  std::string boost_input;                   ///< "key = line number" and sections.
  std::map<std::size_t, std::string> value;  ///< By line number.

  std::string where(std::size_t line) const { return fmt::format("{}:{}", name, line); }

  [[noreturn]] void refuse(std::size_t line, std::string_view text, std::string_view why) const {
    throw ConfigError(
        fmt::format("{}: the line \"{}\" is not understood", where(line), shown(text)), why,
        "write [section], key = value, or a comment that starts with #");
  }

  void add_section(std::size_t line, std::string_view text) {
    if (!text.ends_with(']')) refuse(line, text, "the section's ] is missing");
    const auto section = trim(text.substr(1, text.size() - 2));
    if (section.empty()) refuse(line, text, "the section has no name");
    if (section.find('#') != section.npos) refuse(line, text, "a section's name has no #");
    boost_input += fmt::format("[{}]\n", section);
  }

  void add_assignment(std::size_t line, std::string_view text) {
    const auto equals = text.find('=');
    if (equals == text.npos) refuse(line, text, "an = is missing");
    const auto key = trim(text.substr(0, equals));
    if (key.empty()) refuse(line, text, "there is no key before the =");
    if (key.find_first_of("# \t\"[]") != key.npos)
      refuse(line, text, "a key has no blanks, quotes, brackets or #");
    boost_input += fmt::format("{} = {}\n", key, line);
    value[line] = trim(text.substr(equals + 1));
  }

  void add(std::size_t line, std::string_view text) {
    text = trim(text);
    if (text.starts_with(';')) return;
    text = trim(text.substr(0, find_comment(text)));
    if (text.empty()) return;
    if (text.starts_with('['))
      add_section(line, text);
    else
      add_assignment(line, text);
  }
};

LineIndex index_lines(std::string_view text, const std::string& name) {
  LineIndex index{name, {}, {}};
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);  // byte-order mark
  for (std::size_t line = 1; !text.empty(); ++line) {
    const auto end = std::min(text.find('\n'), text.size());
    auto content = text.substr(0, end);
    if (content.ends_with('\r')) content.remove_suffix(1);
    index.add(line, content);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return index;
}

}  // namespace

std::vector<Setting> parse_ini(std::string_view text, const std::string& name) {
  const auto index = index_lines(text, name);
  std::istringstream input(index.boost_input);
  // Keys are checked in resolve(), where those of files and of the command line meet.
  constexpr bool allow_unregistered = true;
  const auto parsed = boost::program_options::parse_config_file(
      input, boost::program_options::options_description(), allow_unregistered);

  std::vector<Setting> settings;
  std::map<std::string, std::size_t> line_of_key;
  for (const auto& option : parsed.options) {
    const std::size_t line = std::stoul(option.value.at(0));
    const auto [first, is_new] = line_of_key.emplace(option.string_key, line);
    if (!is_new)
      throw ConfigError(
          fmt::format("{}: {} is given twice", index.where(line), shown(option.string_key)),
          fmt::format("first in line {}", first->second), "keep one of the two");
    settings.push_back({option.string_key, index.value.at(line), index.where(line)});
  }
  return settings;
}

std::vector<Setting> read_ini(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (std::filesystem::is_directory(path) || !file || (!(text << file.rdbuf()) && file.bad()))
    throw ConfigError(fmt::format("the config file {} cannot be read", path), {},
                      "give the path of an INI file");
  return parse_ini(text.str(), path);
}

}  // namespace satrap::config
