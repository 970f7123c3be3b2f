#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace satrap {

/// Replaces `path` by `content` so that a reader sees the old file or the new one, also after a
/// power failure: written beside it, synced, renamed, directory synced. Throws CheckpointError.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

/// fsync of a file or directory. Throws CheckpointError.
void sync_path(const std::filesystem::path& path);

/// The whole file. Throws CheckpointError if it cannot be read.
std::string read_file(const std::filesystem::path& path);

/// Locks a file against other processes, of other hosts too where the file system passes locks on,
/// until the destructor; a file system without locks is let pass. Move-only.
class FileLock {
 public:
  FileLock() = default;
  /// Makes the file if need be. Never waits: see taken(). Throws CheckpointError.
  explicit FileLock(const std::filesystem::path& path);
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;

  /// Whether another process has the lock.
  bool taken() const noexcept { return taken_; }

 private:
  int file_ = -1;
  bool taken_ = false;
};

}  // namespace satrap
