#include "job/run_directory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>

#include "checkpoint/checkpoint.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/log.hpp"
#include "store/table.hpp"

namespace satrap::job {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& root, std::string_view problem,
                         std::string_view why) {
  throw ConfigError(fmt::format("job.run_dir {} {}", root.string(), problem), why,
                    "choose a directory that can be written");
}

}  // namespace

FileLock RunDirectory::create() const {
  std::error_code error;
  std::filesystem::create_directories(checkpoints(), error);
  if (error) refuse(root_, "cannot be made", error.message());
  FileLock lock;
  try {
    lock = FileLock(root_ / "lock");
  } catch (const Error& fault) {
    refuse(root_, "cannot be written to", fault.what());
  }
  if (lock.taken()) {
    throw ConfigError(fmt::format("another job writes to job.run_dir {}", root_.string()), {},
                      "wait for its end, or choose another job.run_dir (eval takes the checkpoint "
                      "from job.resume)");
  }
  std::filesystem::remove(fault(), error);
  if (error) refuse(root_, "cannot be written to", error.message());
  return lock;
}

void RunDirectory::write_config(const config::Config& config) const {
  try {
    write_file_atomically(this->config(), config::to_ini(config));
  } catch (const Error& fault) {
    refuse(root_, "cannot be written to", fault.what());
  }
}

bool RunDirectory::claim_fault(std::string_view text) const noexcept {
  constexpr int kReadableByAll = 0644;
  // Exclusive on shared file systems too.
  const int file = ::open(fault().c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kReadableByAll);
  if (file < 0) return errno != EEXIST;
  const auto written = ::write(file, text.data(), text.size());
  static_cast<void>(written);  // stderr and the log tell it as well
  ::close(file);
  return true;
}

namespace {

std::optional<std::filesystem::path> choose_checkpoint(const config::Config& config,
                                                       const RunDirectory& directory,
                                                       bool evaluate_only) {
  const std::string& resume = config.job.resume;
  if (resume != "auto" && resume != "never") {
    if (!std::filesystem::is_directory(resume)) {
      throw CheckpointError(fmt::format("job.resume: there is no checkpoint {}", resume), {},
                            "give the path of a step-<N> directory, auto or never");
    }
    return resume;
  }
  const auto newest = checkpoint::newest(directory.checkpoints());
  if (resume == "never" && evaluate_only) {
    throw ConfigError("job.resume is never", "eval needs a checkpoint",
                      "set it to auto, or to the path of a step-<N> directory");
  }
  if (resume == "never" && newest) {
    throw ConfigError(
        fmt::format("{} holds the checkpoints of an earlier run", directory.root().string()),
        "job.resume is never, and a run from the beginning would mix with it",
        "choose another job.run_dir, remove that directory, or set job.resume = auto");
  }
  return newest;
}

}  // namespace

namespace {

/// In the middle of an epoch a position means the samples before it in that order: other files or
/// another order repeat some and skip others. Legal (the old files may be gone), but not in
/// silence.
void warn_of_other_order(const config::Config& config, const checkpoint::CheckpointInfo& info) {
  if (info.position.sample == 0) return;
  config::DataConfig then;
  try {
    then = config::resolve(config::parse_ini(info.config_ini, "the checkpoint's config"),
                           config::Files::skip)
               .data;
  } catch (const Error&) {
    return;  // Of another version of Satrap: there is nothing to compare.
  }
  const config::DataConfig& now = config.data;
  if (then.train == now.train && then.shuffle == now.shuffle &&
      then.shuffle_window == now.shuffle_window) {
    return;
  }
  spdlog::warn(
      "data.train, data.shuffle or data.shuffle_window is not what step {} was trained with: "
      "sample {} of "
      "epoch {} is counted in the new order, so that this epoch repeats some samples and skips "
      "others",
      info.step, info.position.sample, info.position.epoch + 1);
}

/// Tables of the config that take no memory, to be compared with those of a checkpoint.
std::vector<store::Table> empty_tables(const config::Config& config) {
  std::vector<store::Table> tables;
  for (config::TableConfig table : config.tables) {
    table.capacity = table.capacity_bytes = 0;
    table.admit_after = 1;
    tables.emplace_back(TableId{static_cast<std::uint32_t>(tables.size())}, table, config.job.seed);
  }
  return tables;
}

}  // namespace

Start find_start(const config::Config& config, const RunDirectory& directory, bool evaluate_only) {
  Start start;
  start.checkpoint = choose_checkpoint(config, directory, evaluate_only);
  if (!start.checkpoint) {
    if (!evaluate_only) return start;
    throw CheckpointError(
        fmt::format("there is no checkpoint in {}", directory.checkpoints().string()),
        "eval needs a trained model", "train first, or name a checkpoint with --job.resume=PATH");
  }
  const auto info = checkpoint::describe(*start.checkpoint);
  if (info.seed != config.job.seed) {
    throw ConfigError(fmt::format("{} was trained with job.seed {}, not {}",
                                  start.checkpoint->string(), info.seed, config.job.seed),
                      "rows, sample order and weights follow from the seed",
                      "use the same seed, or another job.run_dir for a new run");
  }
  checkpoint::check_tables(*start.checkpoint, config.checkpoint.virtual_shards,
                           empty_tables(config));
  if (!evaluate_only) warn_of_other_order(config, info);
  start.step = info.step;
  start.position = info.position;
  return start;
}

std::string to_text(const Start& start) {
  return nlohmann::json({{"checkpoint", start.checkpoint ? start.checkpoint->string() : ""},
                         {"step", start.step},
                         {"epoch", start.position.epoch},
                         {"sample", start.position.sample}})
      .dump();
}

Start start_from_text(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  Start start;
  const std::string path = json.at("checkpoint");
  if (!path.empty()) start.checkpoint = path;
  start.step = json.at("step");
  start.position = {json.at("epoch"), json.at("sample")};
  return start;
}

}  // namespace satrap::job
