#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <vector>

namespace satrap::support {

/// The folder of reference numbers: $SATRAP_GOLDEN, else $SATRAP_GOLDEN_DEFAULT (which the build
/// sets for every test), if it exists. Tests that need it say GTEST_SKIP without it.
inline std::optional<std::filesystem::path> golden_folder() {
  for (const char* variable : {"SATRAP_GOLDEN", "SATRAP_GOLDEN_DEFAULT"}) {
    const char* folder = std::getenv(variable);
    if (folder == nullptr || *folder == '\0') continue;
    if (std::filesystem::is_directory(folder)) return std::filesystem::path(folder);
    return std::nullopt;
  }
  return std::nullopt;
}

/// Its HDF5 files in name order; none without the folder. What each holds, and so which test it
/// concerns, is in its attributes and children.
inline std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  if (const auto folder = golden_folder()) {
    for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
      if (entry.path().extension() == ".h5") files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace satrap::support
