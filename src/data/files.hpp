#pragma once

#include <string>
#include <vector>

namespace satrap::data {

/// Expands globs (sorted within one entry) and checks that every file exists and can be read.
/// Throws DataError that names the entry.
std::vector<std::string> expand_files(const std::vector<std::string>& entries);

}  // namespace satrap::data
