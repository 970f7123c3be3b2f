#include "data/byte_source.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace satrap::data {

namespace {

constexpr std::size_t kInputBytes = 256 * 1024;

/// A plain file; move-only, closed by its destructor.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const std::string& path)
      : path_(path), fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) throw DataError("cannot open " + path_, std::strerror(errno));
    // A hint only: reading works without it.
    static_cast<void>(posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL));
  }
  ~FileSource() override { close(fd_); }
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  std::size_t read(std::span<char> out) override {
    const std::size_t n = pread_some(out, consumed_);
    consumed_ += static_cast<std::int64_t>(n);
    return n;
  }
  std::int64_t consumed() const noexcept override { return consumed_; }

  bool has_gzip_magic() const {
    std::array<char, 2> magic{};
    return pread_some(magic, 0) == 2 && magic[0] == '\x1f' && magic[1] == '\x8b';
  }
  const std::string& path() const noexcept { return path_; }

 private:
  std::size_t pread_some(std::span<char> out, std::int64_t offset) const {
    ssize_t n = 0;
    do {
      n = pread(fd_, out.data(), out.size(), offset);
    } while (n < 0 && errno == EINTR);
    if (n < 0) throw DataError("cannot read " + path_, std::strerror(errno));
    return static_cast<std::size_t>(n);
  }

  std::string path_;
  int fd_;
  std::int64_t consumed_ = 0;
};

/// A gzip file. zlib's own gzread is not used because it passes over what follows a member that it
/// cannot read, and so loses data in silence.
class GzipSource final : public ByteSource {
 public:
  explicit GzipSource(std::unique_ptr<FileSource> file)
      : file_(std::move(file)), input_(kInputBytes) {
    constexpr int kGzipOnly = 15 + 16;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw InternalError("zlib cannot start");
  }
  ~GzipSource() override { inflateEnd(&stream_); }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;

  std::size_t read(std::span<char> out) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(out.size());
    while (stream_.avail_out > 0 && has_input()) inflate_some();
    const std::size_t n = out.size() - stream_.avail_out;
    if (n == 0 && !out.empty() && in_member_) {
      throw DataError(file_->path() + " ends in the middle of its gzip stream",
                      "the file is truncated", "copy or compress it again");
    }
    return n;
  }
  std::int64_t consumed() const noexcept override { return file_->consumed() - stream_.avail_in; }

 private:
  /// Whether there is input for the current member, or for a new one. Some writers pad the end of
  /// the file with zeros; they are passed over.
  bool has_input() {
    while (true) {
      while (!in_member_ && stream_.avail_in > 0 && *stream_.next_in == 0) {
        ++stream_.next_in;
        --stream_.avail_in;
      }
      if (stream_.avail_in > 0) return true;
      stream_.avail_in = static_cast<uInt>(file_->read(input_));
      stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
      if (stream_.avail_in == 0) return false;
    }
  }

  void inflate_some() {
    in_member_ = true;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      in_member_ = false;
      inflateReset(&stream_);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw DataError(fmt::format("{} is corrupt near byte {}", file_->path(), consumed()),
                      stream_.msg != nullptr ? stream_.msg : "not gzip data",
                      "copy or compress it again");
    }
  }

  std::unique_ptr<FileSource> file_;
  std::vector<char> input_;
  z_stream stream_{};
  bool in_member_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> open_source(const std::string& path) {
  auto file = std::make_unique<FileSource>(path);
  if (file->has_gzip_magic()) return std::make_unique<GzipSource>(std::move(file));
  if (path.ends_with(".gz")) {
    throw DataError(path + " is not a gzip file", "its first two bytes are not 1f 8b",
                    "name it without .gz if it is plain text");
  }
  return file;
}

}  // namespace satrap::data
