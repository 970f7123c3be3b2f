#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.hpp"
#include "core/file.hpp"
#include "core/types.hpp"
#include "data/batch.hpp"

namespace satrap::job {

/// Where a run starts: from the beginning, or behind a checkpoint.
struct Start {
  std::optional<std::filesystem::path> checkpoint;
  Step step = 0;
  data::Position position;
};

/// Everything a run writes:
///
///     <run_dir>/config.ini      the resolved config
///              /log.txt         the log of all ranks
///              /metrics.jsonl   every number, one JSON object per line
///              /summary.json    the result, written at the end (of eval: evaluation.json)
///              /fault.txt       what ended the run, if a fault of one rank did
///              /checkpoints/    step-<N>/, manifest.json
///              /lock            locked while a job writes here
class RunDirectory {
 public:
  explicit RunDirectory(const std::filesystem::path& root) : root_(root) {}

  std::filesystem::path root() const { return root_; }
  std::filesystem::path config() const { return root_ / "config.ini"; }
  std::filesystem::path log() const { return root_ / "log.txt"; }
  std::filesystem::path metrics() const { return root_ / "metrics.jsonl"; }
  std::filesystem::path summary() const { return root_ / "summary.json"; }
  std::filesystem::path evaluation() const { return root_ / "evaluation.json"; }
  std::filesystem::path fault() const { return root_ / "fault.txt"; }
  std::filesystem::path checkpoints() const { return root_ / "checkpoints"; }

  // Rank 0 only; both throw ConfigError if they cannot.
  /// Makes the directory this job's own until the result is destroyed; no other job may have it.
  [[nodiscard]] FileLock create() const;
  void write_config(const config::Config& config) const;

  /// Whether this rank is the first one of the run to meet a fault; then `text` is in fault().
  /// Where no file can be made every rank is told that it is.
  bool claim_fault(std::string_view text) const noexcept;

 private:
  std::filesystem::path root_;
};

/// Decides by job.resume where the run starts. Rank 0 only. Throws ConfigError or CheckpointError,
/// also where going on would mix runs: never with checkpoints of another run in the directory, or
/// another seed.
Start find_start(const config::Config& config, const RunDirectory& directory, bool evaluate_only);

/// To and from text, to tell the other ranks.
std::string to_text(const Start& start);
Start start_from_text(const std::string& text);

}  // namespace satrap::job
