#pragma once

#include <filesystem>

#include "checkpoint/contents.hpp"
#include "core/types.hpp"

namespace satrap::checkpoint {

/// Writes checkpoint.h5 over the servers' files and dense.h5 in `directory`, and returns what
/// contents.json has to say of all of them. Throws CheckpointError if a file is missing or they do
/// not fit together.
Contents write_top_file(const std::filesystem::path& directory, Step step);

}  // namespace satrap::checkpoint
