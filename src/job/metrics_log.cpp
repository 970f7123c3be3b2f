#include "job/metrics_log.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/log.hpp"

namespace satrap::job {

namespace {

/// The lines of `path` whose step is at most `last`; a line cut off by a crash is dropped.
std::string lines_up_to(const std::filesystem::path& path, Step last) {
  std::string kept;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || json.value("step", Step{0}) > last) continue;
    if (json.value("kind", "") == "summary") continue;
    kept += line + "\n";
  }
  return kept;
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& path, Step start) : path_(path) {
  const std::string kept = start > 0 ? lines_up_to(path, start) : std::string();
  write_file_atomically(path, kept);
  out_.open(path, std::ios::app);
  if (!out_) {
    throw ConfigError(fmt::format("cannot write {}", path.string()), {},
                      "choose another job.run_dir");
  }
}

void MetricsLog::write(const nlohmann::json& line) {
  out_ << line.dump() << '\n';
  if (!out_ && !failed_) {
    failed_ = true;
    spdlog::warn("{} can no longer be written; training goes on without it", path_.string());
  }
}

void MetricsLog::flush() {
  out_.flush();
}

}  // namespace satrap::job
