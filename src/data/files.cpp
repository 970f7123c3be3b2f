#include "data/files.hpp"

#include <glob.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/error.hpp"

namespace satrap::data {

namespace {

/// A regular file only: a pipe cannot be read again in the next epoch, and opening it would hang.
void check_readable(const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) {
    throw DataError("there is no data file " + file, error ? error.message() : std::string(),
                    "check data.train and data.valid; paths are relative to the working directory");
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw DataError(file + " is not a regular file", "data is read once per epoch",
                    "name a file, or a glob such as " + file + "/*");
  }
  if (access(file.c_str(), R_OK) != 0) {
    throw DataError("cannot read " + file, std::strerror(errno));
  }
}

std::vector<std::string> expand(const std::string& entry) {
  // A file whose name has a [ or * in it is meant before what it would match.
  if (std::filesystem::exists(entry) || entry.find_first_of("*?[") == std::string::npos) {
    return {entry};
  }
  glob_t found{};
  const int result = glob(entry.c_str(), GLOB_ERR, nullptr, &found);
  std::vector<std::string> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (result == GLOB_NOMATCH) throw DataError("no data file matches " + entry);
  if (result != 0) throw DataError("cannot list the files of " + entry, std::strerror(errno));
  return files;
}

}  // namespace

std::vector<std::string> expand_files(const std::vector<std::string>& entries) {
  std::vector<std::string> files;
  for (const std::string& entry : entries) {
    for (std::string& file : expand(entry)) {
      check_readable(file);
      files.push_back(std::move(file));
    }
  }
  return files;
}

}  // namespace satrap::data
