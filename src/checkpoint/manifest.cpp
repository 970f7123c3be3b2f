#include "checkpoint/manifest.hpp"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/contents.hpp"
#include "checkpoint/format.hpp"
#include "checkpoint/json_file.hpp"
#include "core/error.hpp"

namespace satrap::checkpoint {

std::vector<Step> read_manifest(const std::filesystem::path& root) {
  const auto path = root / kManifestFile;
  std::error_code error;
  if (!std::filesystem::exists(path, error) && !error) return {};
  const char* remedy =
      "name a checkpoint with job.resume = <path>, or choose another job.run_dir to start anew";
  try {
    return read_json(path, kManifestFormat).at("steps").get<std::vector<Step>>();
  } catch (const CheckpointError& problem) {
    throw CheckpointError(problem.what(), {}, remedy);
  } catch (const nlohmann::json::exception& problem) {
    throw CheckpointError(fmt::format("{} is damaged", path.string()), problem.what(), remedy);
  }
}

void write_manifest(const std::filesystem::path& root, const std::vector<Step>& steps) {
  write_json(root / kManifestFile, kManifestFormat, {{"steps", steps}});
}

std::filesystem::path find_complete(const std::filesystem::path& root, Step step) {
  const auto directory = step_directory(root, step);
  const auto replaced = replaced_directory(root, step);
  std::error_code error;  // check_complete says what is wrong with a path that cannot be looked at
  const bool fallen_back =
      !std::filesystem::exists(directory, error) && std::filesystem::exists(replaced, error);
  const auto& found = fallen_back ? replaced : directory;
  check_complete(found);
  return found;
}

std::optional<std::filesystem::path> newest(const std::filesystem::path& root) {
  const auto steps = read_manifest(root);
  std::string problems;
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    try {
      const auto found = find_complete(root, *step);
      if (!problems.empty()) spdlog::warn("going back to {}: {}", found.string(), problems);
      return found;
    } catch (const CheckpointError& error) {
      problems += (problems.empty() ? "" : "; ") + std::string(error.what());
    }
  }
  if (steps.empty()) return std::nullopt;
  throw CheckpointError(
      fmt::format("no checkpoint under {} is complete, though its manifest names {}", root.string(),
                  steps.size()),
      problems, "restore the files, or choose another job.run_dir to start anew");
}

std::string remedy_without(const std::filesystem::path& checkpoint) noexcept {
  try {
    // The dot takes a trailing slash along.
    const auto absolute =
        std::filesystem::absolute(checkpoint / ".").lexically_normal().parent_path();
    const auto root = absolute.parent_path();
    const auto steps = read_manifest(root);
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      if (step_directory(root, *step) == absolute) continue;
      const auto contents = step_directory(root, *step) / kContentsFile;
      if (std::filesystem::exists(contents)) {
        return fmt::format("go on from another one with job.resume = {}",
                           contents.parent_path().string());
      }
    }
  } catch (const std::exception&) {
    // The manifest is of no help either.
  }
  return "restore it from a copy; there is no other checkpoint beside it";
}

}  // namespace satrap::checkpoint
