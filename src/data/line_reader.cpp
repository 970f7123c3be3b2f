#include "data/line_reader.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/error.hpp"

namespace satrap::data {

LineReader::LineReader(std::vector<std::string> files, Options options)
    : files_(std::move(files)), options_(std::move(options)) {}

void LineReader::read(std::int64_t rows, Lines& out) {
  Line line;
  for (std::int64_t i = 0; i < rows && next_row(line); ++i) {
    out.lines.push_back(line);
    if (out.blocks.empty() || out.blocks.back() != block_) out.blocks.push_back(block_);
  }
}

void LineReader::skip(std::int64_t rows) {
  Line line;
  for (std::int64_t i = 0; i < rows && next_row(line); ++i) {
  }
}

void LineReader::rewind() {
  source_.reset();
  next_file_ = 0;
  row_ = 0;
  cursor_ = end_;
}

double LineReader::fraction() const noexcept {
  if (bytes_before_.empty() || bytes_before_.back() == 0) return 0.0;
  const auto total = static_cast<double>(bytes_before_.back());
  if (source_ == nullptr) return static_cast<double>(bytes_before_[next_file_]) / total;
  // Text that waits in the block counts as unread, at this file's compression so far.
  const double waiting = static_cast<double>(end_ - cursor_) /
                         static_cast<double>(std::max<std::int64_t>(source_bytes_, 1));
  const double read = static_cast<double>(source_->consumed()) * (1.0 - waiting);
  return std::clamp((static_cast<double>(bytes_before_[next_file_ - 1]) + read) / total, 0.0, 1.0);
}

std::string LineReader::where(const Line& line) const {
  return fmt::format("{}:{}", files_[line.file], line.number);
}

bool LineReader::next_row(Line& line) {
  do {
    if (!next_line(line)) return false;
  } while (is_passed_over(line));
  ++row_;
  return true;
}

/// The next line of the files, without its end.
bool LineReader::next_line(Line& line) {
  while (true) {
    const auto size = static_cast<std::size_t>(end_ - cursor_);
    if (size > 0) {
      if (const void* end = std::memchr(cursor_, '\n', size)) {
        const char* newline = static_cast<const char*>(end);
        line = take(newline, newline + 1);
        return true;
      }
    }
    if (options_.stop.stop_requested()) return false;
    if (source_ == nullptr) {
      if (!open_next_file()) return false;
    } else if (!fill()) {
      source_.reset();
      if (size > 0) {
        line = take(end_, end_);
        return true;
      }
    }
  }
}

Line LineReader::take(const char* end, const char* next) {
  const char* begin = std::exchange(cursor_, next);
  ++line_number_;
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (line_number_ == 1 &&
      std::string_view(begin, static_cast<std::size_t>(end - begin)).starts_with(kByteOrderMark)) {
    begin += kByteOrderMark.size();
  }
  if (end > begin && end[-1] == '\r') --end;
  const Line line = {begin, static_cast<std::uint32_t>(end - begin),
                     static_cast<std::uint32_t>(next_file_ - 1), line_number_};
  if (line.size > kMaxLine) {
    throw DataError(where(line) + ": the line is longer than 1 MiB", "",
                    "check that this is a text file with one sample per line");
  }
  return line;
}

bool LineReader::is_passed_over(const Line& line) {
  const std::string_view text = line.view();
  if (text.find_first_not_of(' ') == std::string_view::npos) return true;
  if (!options_.comment.empty() && text.starts_with(options_.comment)) return true;
  if (!header_pending_) return false;
  header_pending_ = false;
  options_.on_header(text, where(line));
  return true;
}

/// Reads more text of the current file behind what waits. False at its end.
bool LineReader::fill() {
  const auto waiting = static_cast<std::size_t>(end_ - cursor_);
  if (waiting > kMaxLine + 2) {  // + 2: a byte-order mark or CR does not count
    throw DataError(fmt::format("{}:{}: the line is longer than 1 MiB", files_[next_file_ - 1],
                                line_number_ + 1),
                    "", "check that this is a text file with one sample per line");
  }
  auto used = static_cast<std::size_t>(end_ - block_.get());
  if (used == kBlockBytes) {
    // Lines that were handed out point into the block: move on to another one unless none is held.
    TextBlock block = block_.use_count() == 1 ? block_ : TextBlock(new char[kBlockBytes]);
    std::memmove(block.get(), cursor_, waiting);
    block_ = std::move(block);
    cursor_ = block_.get();
    used = waiting;
  }
  const std::size_t n = source_->read({block_.get() + used, kBlockBytes - used});
  end_ = block_.get() + used + n;
  source_bytes_ += static_cast<std::int64_t>(n);
  return n > 0;
}

bool LineReader::open_next_file() {
  if (next_file_ == files_.size()) return false;
  if (bytes_before_.empty()) {
    bytes_before_.push_back(0);
    for (const std::string& file : files_) {
      std::error_code error;
      const auto size = std::filesystem::file_size(file, error);
      bytes_before_.push_back(bytes_before_.back() + (error ? 0 : static_cast<std::int64_t>(size)));
    }
  }
  if (block_ == nullptr) {
    block_ = TextBlock(new char[kBlockBytes]);
    cursor_ = end_ = block_.get();
  }
  source_ = open_source(files_[next_file_++]);
  line_number_ = 0;
  source_bytes_ = 0;
  header_pending_ = options_.on_header != nullptr;
  return true;
}

}  // namespace satrap::data
