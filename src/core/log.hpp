#pragma once

#include <spdlog/spdlog.h>

#include <string>

namespace satrap {

/// Sets up the process's logger (spdlog's default logger, so that `spdlog::info(...)` is how code
/// logs). Lines carry time, level and `who`, e.g. "trainer 0 (rank 3)". Lines of `level` and above
/// go to the file `path` if it is not empty; warnings and worse go to stderr as well. Several ranks
/// may append to one file: each line is one write. Call again once the role is known. Throws Error
/// if `path` cannot be opened.
void set_up_logging(const std::string& who, const std::string& path, const std::string& level);

/// From now on stderr gets nothing from this process's logger; the file still does.
void silence_console();

/// The `who` of set_up_logging, "satrap" before the first call.
const std::string& log_identity() noexcept;

}  // namespace satrap
