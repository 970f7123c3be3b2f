#pragma once

#include <string>
#include <string_view>

struct gzFile_s;

namespace satrap::data {

/// A text file being written, compressed if its name ends in .gz. It appears under its name only
/// when commit() has succeeded; without it the destructor leaves nothing. Move is not needed, so
/// there is none.
class TextSink {
 public:
  /// Throws DataError if the file cannot be made.
  explicit TextSink(std::string path);
  ~TextSink();
  TextSink(const TextSink&) = delete;
  TextSink& operator=(const TextSink&) = delete;

  void write(std::string_view text);
  /// Writes what is left and gives the file its name. Both throw DataError, for example if the disk
  /// is full.
  void commit();

 private:
  [[noreturn]] void fail() const;

  std::string path_;
  std::string part_;  ///< Where it is until commit().
  gzFile_s* file_;
};

}  // namespace satrap::data
