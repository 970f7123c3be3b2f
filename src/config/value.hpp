#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/choices.hpp"

namespace satrap::config {

/// A value that its key cannot take, as the end of a sentence that begins with key and value: "is
/// not a whole number". Who knows where the value stands makes a ConfigError of it.
struct BadValue {
  std::string problem;
};

// Values as text. parse_value takes the whole of `text`, which has no blanks around it, and throws
// BadValue; print_value gives the shortest text that parses to the same value.
//
// Text may stand in double quotes, with the escapes \" \\ \n \r \t; it must where its blanks at the
// ends, a comma in a list, or a " #" belong to it.

void parse_value(std::string_view text, std::int64_t& value);  ///< 1e6 and 2.5e3 are whole, too.
void parse_value(std::string_view text, std::uint64_t& value);
void parse_value(std::string_view text, double& value);  ///< Finite numbers only.
void parse_value(std::string_view text, bool& value);
void parse_value(std::string_view text, std::string& value);
void parse_value(std::string_view text, std::vector<std::int64_t>& value);
void parse_value(std::string_view text, std::vector<std::string>& value);
/// The same for bytes; K, M, G or T at the end is a power of 1024.
void parse_bytes(std::string_view text, std::int64_t& value);

std::string print_value(std::int64_t value);
std::string print_value(std::uint64_t value);
std::string print_value(double value);
std::string print_value(bool value);
std::string print_value(const std::string& value);
std::string print_value(const std::vector<std::int64_t>& value);
std::string print_value(const std::vector<std::string>& value);

template <class E>
requires std::is_enum_v<E>
void parse_value(std::string_view text, E& value) {
  for (const auto& choice : Spellings<E>::all) {
    if (choice.text == text) {
      value = choice.value;
      return;
    }
  }
  throw BadValue{"is not one of its choices"};
}

template <class E>
requires std::is_enum_v<E> std::string print_value(E value) {
  return std::string(name_of(value));
}

/// Without the blanks and tabs at both ends.
std::string_view trim(std::string_view text) noexcept;

/// Text of a user as it stands in messages: cut, without control characters, "" if empty.
std::string shown(std::string_view text);

/// Where an end-of-line comment starts in `text`: at a '#' that follows a blank (or stands first)
/// and is not in double quotes. npos if there is none.
std::size_t find_comment(std::string_view text) noexcept;

/// The value that takes a setting back, as if nobody had given it. As text it is written in quotes.
inline constexpr std::string_view kDefaultValue = "default";

}  // namespace satrap::config
