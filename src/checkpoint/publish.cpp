#include <spdlog/spdlog.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "checkpoint/checkpoint.hpp"
#include "checkpoint/contents.hpp"
#include "checkpoint/format.hpp"
#include "checkpoint/manifest.hpp"
#include "checkpoint/top_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"

namespace satrap::checkpoint {

namespace fs = std::filesystem;

namespace {

/// Runs what changes directories under `root`, and reports failures in our way.
template <class Action>
auto change(const fs::path& root, Action action) {
  try {
    return action();
  } catch (const fs::filesystem_error& error) {
    throw CheckpointError(fmt::format("cannot save under {}", root.string()), error.what(),
                          "check the permissions and the free space there");
  }
}

/// The directories step-<N><extension> under `root`.
std::vector<fs::path> rests(const fs::path& root, std::string_view extension) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(root)) {
    const auto& path = entry.path();
    const bool of_a_step = path.stem().string().rfind("step-", 0) == 0;
    if (of_a_step && path.extension() == extension && entry.is_directory()) found.push_back(path);
  }
  return found;
}

void remove_unfinished_in(const fs::path& root) {
  for (const auto& rest : rests(root, ".tmp")) fs::remove_all(rest);
}

/// Clears up after a job that died: removes unfinished checkpoints, and those that were to be
/// replaced get their name back if nothing else has it.
void tidy(const fs::path& root) {
  remove_unfinished_in(root);
  for (const auto& rest : rests(root, ".old")) {
    fs::path directory = rest;
    directory.replace_extension();
    if (fs::exists(directory)) {
      fs::remove_all(rest);
    } else {
      fs::rename(rest, directory);
    }
  }
}

/// Gives the finished directory its name. Wherever the job dies, find_complete finds the step's
/// former checkpoint or the new one.
void publish(const fs::path& root, Step step) {
  const auto directory = step_directory(root, step);
  const auto replaced = replaced_directory(root, step);
  if (fs::exists(directory)) {
    fs::remove_all(replaced);
    fs::rename(directory, replaced);
  }
  fs::rename(temporary_directory(root, step), directory);
  sync_path(root);
}

/// Names `step` as the newest one in the manifest and at most `keep` in all; returns those that it
/// no longer names.
std::vector<Step> enter(const fs::path& root, Step step, std::int64_t keep) {
  std::vector<Step> steps;
  try {
    steps = read_manifest(root);
  } catch (const CheckpointError& error) {
    // The new checkpoint must not be lost for it.
    spdlog::warn("{}; a new manifest is made, which names step {} alone", error.what(), step);
  }
  std::erase(steps, step);
  steps.push_back(step);
  const auto size = static_cast<std::int64_t>(steps.size());
  const auto first_kept =
      steps.begin() + std::max<std::int64_t>(0, size - std::max<std::int64_t>(keep, 1));
  const std::vector<Step> surplus(steps.begin(), first_kept);
  steps.erase(steps.begin(), first_kept);
  write_manifest(root, steps);
  return surplus;
}

/// Removes a checkpoint that the manifest does not name. The temporary name first, so that half of
/// one never looks like a whole one, and the next begin_save finishes what a dead job began.
void discard(const fs::path& root, Step step) {
  const auto rest = temporary_directory(root, step);
  fs::remove_all(replaced_directory(root, step));
  fs::remove_all(rest);
  if (!fs::exists(step_directory(root, step))) return;
  fs::rename(step_directory(root, step), rest);
  fs::remove_all(rest);
}

}  // namespace

void remove_unfinished(const fs::path& root) {
  change(root, [&] { remove_unfinished_in(root); });
}

fs::path begin_save(const fs::path& root, Step step) {
  return change(root, [&] {
    fs::create_directories(root);
    tidy(root);
    auto directory = temporary_directory(root, step);
    fs::create_directory(directory);
    return directory;
  });
}

void finish_save(const fs::path& root, Step step, std::int64_t keep) {
  change(root, [&] {
    const auto directory = temporary_directory(root, step);
    write_contents(directory, write_top_file(directory, step));
    sync_path(directory);
    publish(root, step);
    for (const Step old : enter(root, step, keep)) discard(root, old);
    fs::remove_all(replaced_directory(root, step));
  });
}

}  // namespace satrap::checkpoint
