#include "checkpoint/json_file.hpp"

#include <nlohmann/json.hpp>

#include "checkpoint/format.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"

namespace satrap::checkpoint {

namespace {

std::string checksum_of(nlohmann::json document) {
  document.erase("checksum");
  return to_hex(hash_bytes(document.dump()));
}

}  // namespace

std::string to_hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

std::uint64_t from_hex(const std::string& text) {
  std::size_t used = 0;
  const std::uint64_t value = std::stoull(text, &used, 16);
  if (used != 16 || text.size() != 16) throw std::invalid_argument("not 16 hexadecimal digits");
  return value;
}

void write_json(const std::filesystem::path& path, const std::string& format,
                nlohmann::json document) {
  document["format"] = format;
  document["version"] = kVersion;
  document["checksum"] = checksum_of(document);
  write_file_atomically(path, document.dump(1) + "\n");
}

nlohmann::json read_json(const std::filesystem::path& path, const std::string& format) {
  const std::string text = read_file(path);
  const auto damaged = [&](const std::string& why) {
    return CheckpointError(fmt::format("{} is damaged", path.string()), why,
                           "restore it from a copy, or name a sound step-<N> as job.resume");
  };
  const auto document = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) throw damaged("not a JSON object");
  if (document.value("format", nlohmann::json()) != format) {
    throw damaged(fmt::format("its format is not \"{}\"", format));
  }
  const auto version = document.value("version", nlohmann::json());
  if (version != kVersion) {
    throw CheckpointError(
        fmt::format("{} cannot be read", path.string()),
        fmt::format("format version {}; this program reads version {}", version.dump(), kVersion),
        "use the version of Satrap that wrote it");
  }
  if (document.value("checksum", nlohmann::json()) != checksum_of(document)) {
    throw damaged("its checksum differs");
  }
  return document;
}

}  // namespace satrap::checkpoint
