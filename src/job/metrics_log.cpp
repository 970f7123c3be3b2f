#include "job/metrics_log.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/log.hpp"

namespace satrap::job {

namespace {

/// The lines of `path` that a run behind step `last` keeps, or all; a line cut off by a crash is
/// dropped.
std::string kept_lines(const std::filesystem::path& path, std::optional<Step> last) {
  std::string kept;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    const auto step = json.is_object() ? json.value("step", nlohmann::json()) : nlohmann::json();
    if (!step.is_number_integer()) continue;
    const bool ends_a_run = json.value("kind", nlohmann::json()) == "summary";
    if (last && (ends_a_run || step.get<Step>() > *last)) continue;
    kept += line + "\n";
  }
  return kept;
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& path, std::optional<Step> last) : path_(path) {
  try {
    write_file_atomically(path, last == Step{0} ? std::string() : kept_lines(path, last));
  } catch (const Error& error) {
    throw ConfigError(error.what(), {}, "choose another job.run_dir");
  }
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
