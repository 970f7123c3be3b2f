#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "data/byte_source.hpp"

namespace satrap::data {

/// One row of text, not parsed. A view: its text lives in a TextBlock.
struct Line {
  const char* text;
  std::uint32_t size;
  std::uint32_t file;   ///< Index into the reader's files.
  std::int64_t number;  ///< In its file, from 1, every line counted.

  std::string_view view() const noexcept { return {text, size}; }
};

/// A piece of memory that lines point into; alive as long as somebody holds it.
using TextBlock = std::shared_ptr<char[]>;

/// Consecutive rows and the memory that they point into.
struct Lines {
  std::vector<Line> lines;
  std::vector<TextBlock> blocks;
};

/// Splits files, one after the other, into rows. Passed over and not counted as rows: blank lines,
/// comments and header lines. Line ends may be LF or CRLF, the last line needs none, a byte-order
/// mark at the start of a file is dropped. Memory: one block besides those that callers hold.
class LineReader {
 public:
  /// The header of a file, with "file:line".
  using OnHeader = std::function<void(std::string_view line, const std::string& where)>;

  struct Options {
    std::string comment;        ///< Lines that start with this are passed over; empty: none.
    OnHeader on_header;         ///< If set, the first row of each file is its header and goes here.
    std::stop_token stop = {};  ///< Once asked to stop, there are no more rows.
  };

  LineReader(std::vector<std::string> files, Options options);

  /// Appends the next `rows` rows to `out`, fewer at the end of the files. Throws DataError: a file
  /// that cannot be read, or a line longer than kMaxLine.
  void read(std::int64_t rows, Lines& out);
  /// Passes over that many rows, fewer at the end.
  void skip(std::int64_t rows);
  /// Back to the first row of the first file.
  void rewind();

  /// Rows passed since the start.
  std::int64_t row() const noexcept { return row_; }
  /// Share of the bytes of all files that row() rows took, in [0, 1].
  double fraction() const noexcept;
  /// "file:line", for messages.
  std::string where(const Line& line) const;

  static constexpr std::size_t kMaxLine = std::size_t{1} << 20;

 private:
  static constexpr std::size_t kBlockBytes = 2 * kMaxLine;

  bool next_row(Line& line);
  bool next_line(Line& line);
  Line take(const char* end, const char* next);
  bool is_passed_over(const Line& line);
  bool fill();
  bool open_next_file();

  std::vector<std::string> files_;
  Options options_;
  std::vector<std::int64_t> bytes_before_;  ///< [files + 1] prefix sums of sizes; empty until used

  std::unique_ptr<ByteSource> source_;  ///< Of files_[next_file_ - 1]; null between files.
  std::size_t next_file_ = 0;
  std::int64_t line_number_ = 0;
  std::int64_t source_bytes_ = 0;  ///< Text that source_ has given.
  bool header_pending_ = false;

  // The text not yet split off: [cursor_, end_) of block_.
  TextBlock block_;
  const char* cursor_ = nullptr;
  char* end_ = nullptr;

  std::int64_t row_ = 0;
};

}  // namespace satrap::data
