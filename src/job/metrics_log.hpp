#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "core/types.hpp"

namespace satrap::job {

/// metrics.jsonl: one JSON object per line, each with "kind" and "step". A run that goes on from a
/// checkpoint drops the lines of later steps first, so that the file reads as if the run had never
/// stopped.
class MetricsLog {
 public:
  /// Keeps the lines of steps up to `last`, or all. Throws ConfigError if the file cannot be
  /// written.
  MetricsLog(const std::filesystem::path& path, std::optional<Step> last);

  /// Appends one line. A full disk is told once and does not end the run.
  void write(const nlohmann::json& line);
  void flush();

 private:
  std::filesystem::path path_;
  std::ofstream out_;
  bool failed_ = false;
};

}  // namespace satrap::job
