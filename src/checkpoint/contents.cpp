#include "checkpoint/contents.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "checkpoint/format.hpp"
#include "checkpoint/json_file.hpp"
#include "checkpoint/manifest.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"

namespace satrap::checkpoint {

namespace {

/// XXH3 of the bytes of a file outside of `rows`.
std::uint64_t header_checksum(const std::filesystem::path& path, std::int64_t bytes,
                              const std::vector<Extent>& rows) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> buffer(std::size_t{1} << 20);
  StreamHash hash;
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    in.seekg(begin);
    while (begin < end) {
      const auto n = std::min<std::int64_t>(end - begin, static_cast<std::int64_t>(buffer.size()));
      in.read(buffer.data(), n);
      if (!in) throw CheckpointError(fmt::format("cannot read {}", path.string()));
      hash.update(std::as_bytes(std::span(buffer.data(), static_cast<std::size_t>(n))));
      begin += n;
    }
  };
  std::int64_t position = 0;
  for (const auto& [offset, length] : rows) {
    add(position, offset);
    position = offset + length;
  }
  add(position, bytes);
  return hash.digest();
}

nlohmann::json to_json(const FileEntry& file) {
  nlohmann::json json = {
      {"name", file.name}, {"bytes", file.bytes}, {"checksum", to_hex(file.checksum)}};
  if (file.end_shard > file.first_shard) {
    json["rows"] = file.rows;
    json["shards"] = {file.first_shard, file.end_shard};
  }
  return json;
}

FileEntry from_json(const nlohmann::json& json) {
  FileEntry file{.name = json.at("name"),
                 .bytes = json.at("bytes"),
                 .checksum = from_hex(json.at("checksum")),
                 .rows = {}};
  if (json.contains("rows")) {
    json.at("rows").get_to(file.rows);
    file.first_shard = json.at("shards").at(0);
    file.end_shard = json.at("shards").at(1);
  }
  std::int64_t position = 0;
  for (const auto& [offset, length] : file.rows) {
    if (offset < position || length < 0 || offset > file.bytes - length) {
      throw std::out_of_range("rows outside of their file");
    }
    position = offset + length;
  }
  if (std::filesystem::path(file.name).filename() != file.name) {
    throw std::invalid_argument("a file outside of the checkpoint");
  }
  return file;
}

/// What is wrong with the size of a file; empty: nothing.
std::string size_problem(const std::filesystem::path& checkpoint, const FileEntry& entry) {
  std::error_code error;
  const auto size = std::filesystem::file_size(checkpoint / entry.name, error);
  if (error) return error.message();
  if (static_cast<std::int64_t>(size) == entry.bytes) return {};
  return fmt::format("it has {} bytes instead of {}", size, entry.bytes);
}

}  // namespace

std::int64_t Contents::bytes() const noexcept {
  return std::accumulate(files.begin(), files.end(), std::int64_t{0},
                         [](std::int64_t sum, const FileEntry& file) { return sum + file.bytes; });
}

std::int64_t Contents::servers() const noexcept {
  return std::count_if(files.begin(), files.end(),
                       [](const FileEntry& file) { return file.end_shard > file.first_shard; });
}

FileEntry describe_file(const std::filesystem::path& path, std::vector<Extent> rows) {
  std::error_code error;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
  if (error) {
    throw CheckpointError(fmt::format("cannot read {}", path.string()), error.message());
  }
  std::sort(rows.begin(), rows.end());
  std::vector<Extent> joined;
  for (const auto& [offset, length] : rows) {
    if (length == 0) continue;
    if (!joined.empty() && joined.back().first + joined.back().second == offset) {
      joined.back().second += length;
    } else {
      joined.emplace_back(offset, length);
    }
  }
  const std::uint64_t checksum = header_checksum(path, bytes, joined);
  return {.name = path.filename(), .bytes = bytes, .checksum = checksum, .rows = std::move(joined)};
}

void write_contents(const std::filesystem::path& checkpoint, const Contents& contents) {
  nlohmann::json files = nlohmann::json::array();
  for (const auto& file : contents.files) files.push_back(to_json(file));
  write_json(checkpoint / kContentsFile, kContentsFormat,
             {{"kind", "full"},
              {"step", contents.step},
              {"virtual_shards", contents.virtual_shards},
              {"files", std::move(files)}});
}

Contents read_contents(const std::filesystem::path& checkpoint) {
  const auto json = read_json(checkpoint / kContentsFile, kContentsFormat);
  try {
    Contents contents{
        .step = json.at("step"), .virtual_shards = json.at("virtual_shards"), .files = {}};
    for (const auto& file : json.at("files")) contents.files.push_back(from_json(file));
    if (json.at("kind") != "full") throw std::invalid_argument("not a full checkpoint");
    return contents;
  } catch (const std::exception& error) {  // of nlohmann's and ours: members missing or odd
    damaged(checkpoint, kContentsFile, error.what());
  }
}

void check_complete(const std::filesystem::path& checkpoint) {
  for (const auto& file : read_contents(checkpoint).files) {
    const std::string problem = size_problem(checkpoint, file);
    if (problem.empty()) continue;
    throw CheckpointError(fmt::format("{} cannot be used", (checkpoint / file.name).string()),
                          problem);
  }
}

void check_header(const std::filesystem::path& checkpoint, const FileEntry& entry) {
  const std::string problem = size_problem(checkpoint, entry);
  if (!problem.empty()) damaged(checkpoint, entry.name, problem);
  if (header_checksum(checkpoint / entry.name, entry.bytes, entry.rows) != entry.checksum) {
    damaged(checkpoint, entry.name, "its checksum differs: damaged, or of another checkpoint");
  }
}

h5::File open_checked(const std::filesystem::path& checkpoint, const FileEntry& entry) {
  check_header(checkpoint, entry);
  return h5::File::open(checkpoint / entry.name);
}

const FileEntry& find_file(const std::filesystem::path& checkpoint, const Contents& contents,
                           const std::string& name) {
  const auto found = std::find_if(contents.files.begin(), contents.files.end(),
                                  [&](const FileEntry& file) { return file.name == name; });
  if (found == contents.files.end()) {
    damaged(checkpoint, kContentsFile, fmt::format("it does not list {}", name));
  }
  return *found;
}

void damaged(const std::filesystem::path& checkpoint, const std::string& file,
             const std::string& why) {
  throw CheckpointError(fmt::format("{} cannot be used", (checkpoint / file).string()), why,
                        remedy_without(checkpoint));
}

}  // namespace satrap::checkpoint
