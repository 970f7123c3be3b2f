#include "checkpoint/format.hpp"

#include <charconv>
#include <string_view>

#include "checkpoint/checkpoint.hpp"
#include "core/error.hpp"

namespace satrap::checkpoint {

namespace {

constexpr std::string_view kStepPrefix = "step-";

}  // namespace

std::string server_file(ServerId server) {
  return fmt::format("server-{}.h5", raw(server));
}

std::filesystem::path step_directory(const std::filesystem::path& root, Step step) {
  return root / fmt::format("{}{}", kStepPrefix, step);
}

std::filesystem::path temporary_directory(const std::filesystem::path& root, Step step) {
  return root / fmt::format("{}{}.tmp", kStepPrefix, step);
}

std::filesystem::path replaced_directory(const std::filesystem::path& root, Step step) {
  return root / fmt::format("{}{}.old", kStepPrefix, step);
}

Step step_of(const std::filesystem::path& directory) {
  const std::string name = directory.filename();
  Step step = -1;
  if (name.rfind(kStepPrefix, 0) == 0) {
    std::from_chars(name.data() + kStepPrefix.size(), name.data() + name.size(), step);
  }
  if (step < 0) {
    throw CheckpointError(fmt::format("{} is no directory of a checkpoint", directory.string()),
                          "its name is not step-<N>");
  }
  return step;
}

void write_file_attributes(h5::File& file, const char* part, Step step) {
  file.set_attribute("format", kContentsFormat);
  file.set_attribute("version", kVersion);
  file.set_attribute("part", part);
  file.set_attribute<std::int64_t>("step", step);
}

}  // namespace satrap::checkpoint
