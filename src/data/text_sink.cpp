#include "data/text_sink.hpp"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace satrap::data {

TextSink::TextSink(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
  // T: zlib passes the text through as it is.
  file_ = gzopen(part_.c_str(), path_.ends_with(".gz") ? "wb1" : "wbT");
  if (file_ == nullptr) fail();
  gzbuffer(file_, 1 << 18);
}

TextSink::~TextSink() {
  if (file_ == nullptr) return;
  gzclose(file_);
  std::error_code ignored;
  std::filesystem::remove(part_, ignored);
}

void TextSink::write(std::string_view text) {
  if (!text.empty() && gzwrite(file_, text.data(), static_cast<unsigned>(text.size())) == 0) fail();
}

void TextSink::commit() {
  if (gzflush(file_, Z_FINISH) != Z_OK) fail();
  if (gzclose(std::exchange(file_, nullptr)) != Z_OK) fail();
  std::error_code error;
  std::filesystem::rename(part_, path_, error);
  if (error) throw DataError("cannot write " + path_, error.message());
}

void TextSink::fail() const {
  throw DataError("cannot write " + path_, std::strerror(errno));
}

}  // namespace satrap::data
