#pragma once

// Names of docs/checkpoint-format.md, shared by writer and reader.

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/types.hpp"
#include "h5/file.hpp"

namespace satrap::checkpoint {

inline constexpr std::int64_t kVersion = 2;
inline constexpr const char* kContentsFormat = "satrap-checkpoint";
inline constexpr const char* kManifestFormat = "satrap-manifest";

inline constexpr const char* kTopFile = "checkpoint.h5";
inline constexpr const char* kDenseFile = "dense.h5";
inline constexpr const char* kContentsFile = "contents.json";
inline constexpr const char* kManifestFile = "manifest.json";

std::string server_file(ServerId server);
/// <root>/step-<N>, and the name that it has while it is replaced by a new one.
std::filesystem::path step_directory(const std::filesystem::path& root, Step step);
std::filesystem::path replaced_directory(const std::filesystem::path& root, Step step);

/// The N of any of these and of temporary_directory. Throws CheckpointError for other paths.
Step step_of(const std::filesystem::path& directory);

/// The attributes that every HDF5 file of a checkpoint has: format, version, step, and the part it
/// is: "top", "server" or "dense".
void write_file_attributes(h5::File& file, const char* part, Step step);

}  // namespace satrap::checkpoint
