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

}  // namespace satrap
