#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"

namespace satrap::config {

/// The names in the first line (after comments and blank lines) of the first file of data.train,
/// plain or .gz. Throws DataError if there is no such file or line.
std::vector<std::string> read_csv_header(const DataConfig& data);

}  // namespace satrap::config
