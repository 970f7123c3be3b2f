#include "config/resolve/csv_header.hpp"

#include <glob.h>
#include <zlib.h>

#include <filesystem>
#include <memory>

#include "config/value.hpp"
#include "core/error.hpp"

namespace satrap::config {

namespace {

[[noreturn]] void refuse(const std::string& file, std::string_view why) {
  throw DataError(fmt::format("the header line of {} cannot be read", file), why,
                  "check data.train; paths are relative to the working directory");
}

/// The first file that `entry` of data.train stands for.
std::string first_file(const std::string& entry) {
  if (std::filesystem::exists(entry)) return entry;
  glob_t matches{};
  const std::unique_ptr<glob_t, void (*)(glob_t*)> freed(&matches, globfree);
  if (glob(entry.c_str(), 0, nullptr, &matches) != 0) refuse(entry, "there is no such file");
  return matches.gl_pathv[0];
}

/// The first line that is neither blank nor a comment.
std::string first_line(const std::string& path, const std::string& comment) {
  constexpr std::size_t kLongest = 1 << 20;
  if (!std::filesystem::is_regular_file(path)) refuse(path, "it is not a regular file");
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) refuse(path, "it cannot be opened");
  std::string buffer(kLongest, '\0');
  while (gzgets(file.get(), buffer.data(), static_cast<int>(buffer.size()))) {
    std::string_view line = buffer.c_str();
    if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
    const bool is_comment = !comment.empty() && line.starts_with(comment);
    if (!trim(line).empty() && !is_comment) return std::string(line);
  }
  refuse(path, "it has no line, or is damaged");
}

/// Blanks around a name do not count; one in double quotes may hold the delimiter, and "" for a
/// quote.
std::vector<std::string> split(std::string_view line, std::string_view delimiter) {
  std::vector<std::string> names(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quoted && line.substr(i).starts_with("\"\"")) {
      names.back() += line[i++];
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && line.substr(i).starts_with(delimiter)) {
      names.emplace_back();
      i += delimiter.size() - 1;
    } else {
      names.back() += line[i];
    }
  }
  for (auto& name : names) name = trim(name);
  return names;
}

}  // namespace

std::vector<std::string> read_csv_header(const DataConfig& data) {
  const std::string line = first_line(first_file(data.train.at(0)), data.comment);
  return split(line, data.delimiter);
}

}  // namespace satrap::config
