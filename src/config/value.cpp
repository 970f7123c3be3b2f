#include "config/value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace satrap::config {

namespace {

constexpr std::string_view kBlanks = " \t";

struct Escape {
  char code;
  char meaning;
};
constexpr Escape kEscapes[] = {{'"', '"'}, {'\\', '\\'}, {'n', '\n'}, {'r', '\r'}, {'t', '\t'}};

template <class T>
void parse_number(std::string_view text, T& value, std::string_view kind) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && stop == end)
    throw BadValue{"is beyond what can be represented"};
  if (error != std::errc() || stop != end) throw BadValue{fmt::format("is not a {}", kind)};
}

/// A whole number with an exponent without it, digit by digit, so that none is lost: "2.5e3" as
/// "2500". All else as it is.
std::string without_exponent(std::string_view text) {
  constexpr int kMostDigits = 20;  // More are beyond 64 bits, be they zeros.
  const auto e = text.find_first_of("eE");
  std::string digits(text.substr(0, e));
  if (e == text.npos || digits.empty() || digits.back() < '0' || digits.back() > '9') {
    return std::string(text);
  }
  text.remove_prefix(e + 1);
  if (text.starts_with('+')) text.remove_prefix(1);
  int exponent = 0;
  parse_number(text, exponent, "whole number");
  if (const auto point = digits.find('.'); point != digits.npos) {
    digits.erase(point, 1);
    exponent -= static_cast<int>(std::min<std::size_t>(digits.size() - point, kMostDigits + 1));
  }
  if (exponent < 0) throw BadValue{"is not a whole number"};
  return digits.append(static_cast<std::size_t>(std::min(exponent, kMostDigits)), '0');
}

template <class T>
std::string print_number(T value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

/// The position behind the closing quote of a quoted text that starts at `text[0]`.
std::size_t end_of_quotes(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      return i + 1;
  }
  throw BadValue{"has a double quote that is not closed"};
}

char unescape(char code) {
  for (const auto& escape : kEscapes)
    if (escape.code == code) return escape.meaning;
  throw BadValue{fmt::format("has the unknown escape \\{}", code)};
}

/// Takes off the quotes, if there are any.
std::string unquote(std::string_view text) {
  if (!text.starts_with('"')) return std::string(text);
  if (end_of_quotes(text) != text.size()) throw BadValue{"goes on behind its closing quote"};
  text = text.substr(1, text.size() - 2);
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i)
    plain += text[i] == '\\' ? unescape(text[++i]) : text[i];
  return plain;
}

bool needs_quotes(std::string_view text) {
  return text == kDefaultValue || trim(text) != text ||
         text.find_first_of(",\"\n\r\t") != text.npos || find_comment(text) != text.npos;
}

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    char written = c;
    for (const auto& escape : kEscapes) {
      if (escape.meaning == c) {
        quoted += '\\';
        written = escape.code;
      }
    }
    quoted += written;
  }
  return quoted + '"';
}

/// The elements of a comma-separated list, each with its quotes and without the blanks around it.
std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> elements;
  while (!text.empty()) {
    const auto from = text.starts_with('"') ? end_of_quotes(text) : 0;
    const auto comma = text.find(',', from);
    const auto element = trim(text.substr(0, comma));
    if (element.empty()) throw BadValue{"has an empty element"};
    elements.push_back(element);
    if (comma == text.npos) return elements;
    text = trim(text.substr(comma + 1));
    if (text.empty()) throw BadValue{"ends in a comma"};
  }
  return elements;
}

template <class T>
std::vector<T> parse_list(std::string_view text) {
  std::vector<T> list;
  for (const auto element : split_list(text)) {
    list.emplace_back();
    parse_value(element, list.back());
  }
  return list;
}

}  // namespace

std::string_view trim(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  if (text.empty()) return "\"\"";
  std::string line(text.substr(0, kLongest));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return text.size() > kLongest ? line + "..." : line;
}

std::size_t find_comment(std::string_view text) noexcept {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && quoted)
      ++i;
    else if (text[i] == '"')
      quoted = !quoted;
    else if (text[i] == '#' && !quoted && (i == 0 || kBlanks.find(text[i - 1]) != kBlanks.npos))
      return i;
  }
  return text.npos;
}

void parse_value(std::string_view text, std::int64_t& value) {
  parse_number(without_exponent(text), value, "whole number");
}

void parse_value(std::string_view text, std::uint64_t& value) {
  parse_number(without_exponent(text), value, "whole number of at least 0");
}

void parse_bytes(std::string_view text, std::int64_t& value) {
  constexpr std::string_view kUnits = "KMGT";
  const auto unit = text.empty() ? text.npos : kUnits.find(text.back());
  if (unit == text.npos) return parse_value(text, value);
  parse_value(text.substr(0, text.size() - 1), value);
  const std::int64_t factor = std::int64_t{1} << (10 * (unit + 1));
  if (value > std::numeric_limits<std::int64_t>::max() / factor || value < 0) {
    throw BadValue{"is beyond what can be represented"};
  }
  value *= factor;
}

void parse_value(std::string_view text, double& value) {
  parse_number(text, value, "number");
  if (!std::isfinite(value)) throw BadValue{"is not a finite number"};
  // They are computed with in single precision. Smaller ones would be 0 there, which often means
  // "not at all".
  using Limits = std::numeric_limits<float>;
  const double size = std::abs(value);
  if (size > Limits::max() || (0 < size && size < Limits::min())) {
    throw BadValue{"is beyond what single precision can represent"};
  }
}

void parse_value(std::string_view text, bool& value) {
  value = text == "true";
  if (!value && text != "false") throw BadValue{"is neither true nor false"};
}

void parse_value(std::string_view text, std::string& value) {
  value = unquote(text);
}

void parse_value(std::string_view text, std::vector<std::int64_t>& value) {
  value = parse_list<std::int64_t>(text);
}

void parse_value(std::string_view text, std::vector<std::string>& value) {
  value = parse_list<std::string>(text);
}

std::string print_value(std::int64_t value) {
  return print_number(value);
}

std::string print_value(std::uint64_t value) {
  return print_number(value);
}

std::string print_value(double value) {
  return print_number(value);
}

std::string print_value(bool value) {
  return value ? "true" : "false";
}

std::string print_value(const std::string& value) {
  return needs_quotes(value) ? quote(value) : value;
}

std::string print_value(const std::vector<std::int64_t>& value) {
  return fmt::format("{}", fmt::join(value, ", "));
}

std::string print_value(const std::vector<std::string>& value) {
  std::string list;
  for (const auto& element : value) {
    if (!list.empty()) list += ", ";
    list += element.empty() ? "\"\"" : print_value(element);
  }
  return list;
}

}  // namespace satrap::config
