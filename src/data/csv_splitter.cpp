#include "data/csv_splitter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "data/row.hpp"

namespace satrap::data {

CsvSplitter::CsvSplitter(const std::string& delimiter) : delimiter_(delimiter), blanks_(" \t") {
  std::erase_if(blanks_, [&](char c) { return delimiter_.find(c) != std::string::npos; });
}

const std::vector<std::string_view>& CsvSplitter::split(std::string_view line) {
  if (line.find('\0') != std::string_view::npos) throw BadRow("a NUL byte: not a text file?");
  fields_.clear();
  unquoted_.clear();
  unquoted_.reserve(line.size());  // so that views into it stay valid
  for (std::size_t at = 0;; at += delimiter_.size()) {
    at = skip_blanks(line, at);
    if (at < line.size() && line[at] == '"') {
      fields_.push_back(read_quoted(line, at));
      at = skip_blanks(line, at);
      if (at < line.size() && !line.substr(at).starts_with(delimiter_)) {
        throw BadRow(fmt::format("column {}: text behind the closing quote", fields_.size()));
      }
    } else {
      const std::size_t end = std::min(line.find(delimiter_, at), line.size());
      fields_.push_back(trim_end(line.substr(at, end - at)));
      at = end;
    }
    if (at >= line.size()) return fields_;
  }
}

std::size_t CsvSplitter::skip_blanks(std::string_view line, std::size_t at) const {
  return std::min(line.find_first_not_of(blanks_, at), line.size());
}

std::string_view CsvSplitter::trim_end(std::string_view field) const {
  return field.substr(0, field.find_last_not_of(blanks_) + 1);
}

/// The field whose opening quote is at `at`; moves `at` behind its closing quote.
std::string_view CsvSplitter::read_quoted(std::string_view line, std::size_t& at) {
  const std::size_t begin = at + 1;
  const std::size_t stored = unquoted_.size();
  bool doubled = false;
  for (std::size_t from = begin;; from += 2) {
    const std::size_t quote = line.find('"', from);
    if (quote == std::string_view::npos) {
      throw BadRow(
          fmt::format("column {}: the quote does not close on this line", fields_.size() + 1));
    }
    if (line.substr(quote).starts_with("\"\"")) {
      unquoted_.append(line.substr(from, quote + 1 - from));
      doubled = true;
      from = quote;
      continue;
    }
    at = quote + 1;
    if (!doubled) return line.substr(begin, quote - begin);
    unquoted_.append(line.substr(from, quote - from));
    return std::string_view(unquoted_).substr(stored);
  }
}

}  // namespace satrap::data
