#pragma once

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"

namespace satrap::data {

/// A folder of its own for one test, removed at its end.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "satrap-data-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path(const std::string& name) const { return (path_ / name).string(); }

  /// Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::filesystem::path path_;
};

/// One gzip member.
inline std::string gzip(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2 failed");
  }
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

inline void add_slots(config::Config& config, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    config.slots.push_back({.name = name, .table = name, .pooling = config::Pooling::sum});
    config.tables.emplace_back().name = name;
  }
}

inline config::Config criteo_config() {
  config::Config config;
  config.data.dense_transform = config::DenseTransform::none;
  std::vector<std::string> names;
  for (int i = 1; i <= 26; ++i) names.push_back(fmt::format("C{}", i));
  add_slots(config, names);
  return config;
}

/// Columns id, age, job, label: a number, a category, a label ("yes" is 1) and one not used.
inline config::Config csv_config() {
  config::Config config;
  config.data.format = config::DataFormat::csv;
  config.data.dense_transform = config::DenseTransform::none;
  config.data.columns = {"id", "age", "job", "label"};
  config.data.numeric = {"age"};
  config.data.categorical = {"job"};
  config.data.label = "label";
  config.data.label_positive = {"yes"};
  add_slots(config, {"job"});
  return config;
}

/// A Criteo row whose 13 integers are `number` and whose 26 ids are `id`.
inline std::string criteo_row(int label, const std::string& number, const std::string& id) {
  std::string row = std::to_string(label);
  for (int i = 0; i < 13; ++i) row += "\t" + number;
  for (int i = 0; i < 26; ++i) row += "\t" + id;
  return row;
}

/// The message of the Error (or other exception) that `run` throws, or "" if it throws none.
template <class Exception, class Run>
std::string message_of(Run run) {
  try {
    run();
  } catch (const Exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace satrap::data
