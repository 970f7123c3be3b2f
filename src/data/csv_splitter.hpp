#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace satrap::data {

/// Splits a line of separated values. Spaces and tabs around a field are trimmed, unless they are
/// the delimiter. A field that starts with a double quote ends at the next one; inside, delimiters
/// and spaces stand for themselves and "" is a quote. Not thread-safe.
class CsvSplitter {
 public:
  /// `delimiter`: one or more bytes.
  explicit CsvSplitter(const std::string& delimiter);

  /// The fields, valid until the next call and as long as `line`. Throws BadRow: a quote that does
  /// not close on this line or has text behind it, a NUL byte.
  const std::vector<std::string_view>& split(std::string_view line);

 private:
  std::size_t skip_blanks(std::string_view line, std::size_t at) const;
  std::string_view trim_end(std::string_view field) const;
  std::string_view read_quoted(std::string_view line, std::size_t& at);

  std::string delimiter_;
  std::string blanks_;    ///< What is trimmed.
  std::string unquoted_;  ///< Memory of the fields that had a "" inside.
  std::vector<std::string_view> fields_;
};

}  // namespace satrap::data
