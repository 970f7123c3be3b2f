#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/types.hpp"
#include "h5/file.hpp"

namespace satrap::checkpoint {

/// A stretch of a file: offset and length in bytes.
using Extent = std::pair<std::int64_t, std::int64_t>;

/// One file of a checkpoint, as contents.json lists it.
///
///     file   | header | rows | header | rows | header |
///
/// `rows` are guarded block by block by the file's datasets `checksums`; everything else, these
/// datasets included, by `checksum`. So each byte is guarded, and a server that loads a part of the
/// rows reads little more than that part.
struct FileEntry {
  std::string name;
  std::int64_t bytes = 0;
  std::uint64_t checksum = 0;  ///< XXH3 of the bytes outside of `rows`.
  std::vector<Extent> rows;    ///< Ascending, disjoint. None in files without rows.
  /// The virtual shards [first_shard, end_shard) whose rows it holds; none in files without rows.
  std::int64_t first_shard = 0;
  std::int64_t end_shard = 0;
};

/// What contents.json says: the files of one consistent cut.
struct Contents {
  Step step = 0;
  std::int64_t virtual_shards = 0;
  std::vector<FileEntry> files;

  std::int64_t bytes() const noexcept;
  std::int64_t servers() const noexcept;  ///< Files with rows.
};

/// Describes a file that has just been written. Throws CheckpointError if it cannot be read.
FileEntry describe_file(const std::filesystem::path& path, std::vector<Extent> rows);

void write_contents(const std::filesystem::path& checkpoint, const Contents& contents);

/// Throws CheckpointError if it is missing or damaged.
Contents read_contents(const std::filesystem::path& checkpoint);

/// Throws CheckpointError unless contents.json and every file of its full size are there.
void check_complete(const std::filesystem::path& checkpoint);

/// Throws CheckpointError unless the file is there with its full size and its header is sound.
void check_header(const std::filesystem::path& checkpoint, const FileEntry& entry);

/// Opens a file after checking its header, so that HDF5 never sees a damaged one.
h5::File open_checked(const std::filesystem::path& checkpoint, const FileEntry& entry);

/// The entry of the file `name`. Throws CheckpointError if there is none.
const FileEntry& find_file(const std::filesystem::path& checkpoint, const Contents& contents,
                           const std::string& name);

/// Throws the CheckpointError of a file that is not what was written; the remedy names another
/// complete checkpoint if there is one.
[[noreturn]] void damaged(const std::filesystem::path& checkpoint, const std::string& file,
                          const std::string& why);

}  // namespace satrap::checkpoint
