#include "core/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "core/error.hpp"

namespace satrap {

namespace {

[[noreturn]] void fail(std::string_view what, const std::filesystem::path& path) {
  throw CheckpointError(fmt::format("cannot {} {}", what, path.string()), std::strerror(errno),
                        "check the permissions and the free space there");
}

}  // namespace

void sync_path(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("open", path);
  const bool synced = ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  errno = error;
  if (!synced) fail("sync", path);
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  const std::filesystem::path temporary = path.string() + ".tmp";
  {
    std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
    out.write(content.data(), static_cast<std::streamsize>(content.size()));
    out.flush();
    if (!out) fail("write", temporary);
  }
  sync_path(temporary);
  if (std::rename(temporary.c_str(), path.c_str()) != 0) fail("rename to", path);
  sync_path(path.has_parent_path() ? path.parent_path() : ".");
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("open", path);
  std::string content((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) fail("read", path);
  return content;
}

FileLock::FileLock(const std::filesystem::path& path) {
  constexpr int kReadableByAll = 0644;
  file_ = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, kReadableByAll);
  if (file_ < 0) fail("open", path);
  taken_ = ::flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

FileLock::~FileLock() {
  if (file_ >= 0) ::close(file_);
}

FileLock::FileLock(FileLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)), taken_(other.taken_) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(taken_, other.taken_);
  return *this;
}

}  // namespace satrap
