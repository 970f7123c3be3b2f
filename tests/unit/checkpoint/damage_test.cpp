#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "checkpoint/json_file.hpp"
#include "core/file.hpp"
#include "model.hpp"

namespace satrap::checkpoint {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

/// A checkpoint whose files the tests damage and mend.
class Damage : public testing::Test {
 protected:
  static std::vector<Tables> model() { return make_job(all_tables(), 2, 30); }

  /// Loads all of it. Throws, or gives what was saved.
  void load() const {
    Dense dense;
    load_dense(path_, dense.state);
    const bool equal = same_rows(job_, load_job(path_, all_tables(), 2)) &&
                       dense.weight == std::vector<float>(6, 5.0F) && dense.state.step == 5;
    if (!equal) ADD_FAILURE() << "damage was loaded";
  }

  std::string load_message() const {
    return message_of([this] { load(); });
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_))
      names.push_back(entry.path().filename());
    return names;
  }

  const Folder folder_;
  const std::vector<Tables> job_ = model();
  const fs::path path_ = save(folder_.path(), 5, job_);
};

void flip(const fs::path& path, std::int64_t offset, int bit) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const int byte = file.get();
  file.seekp(offset);
  file.put(static_cast<char>(byte ^ (1 << bit)));
}

TEST_F(Damage, NoFlippedBitIsLoaded) {
  load();
  int flips = 0;
  for (const auto& name : files()) {
    const bool json = fs::path(name).extension() == ".json";
    const auto size = static_cast<std::int64_t>(fs::file_size(path_ / name));
    const std::int64_t stride = json ? 7 : 251;
    for (std::int64_t offset = 0; offset < size; offset += stride) {
      const int bit = static_cast<int>(offset % 8);
      flip(path_ / name, offset, bit);
      if (json) {
        // White space may change as it likes; load() fails the test if anything else did.
        load_message();
      } else {
        ASSERT_THAT(load_message(), HasSubstr(name)) << "byte " << offset;
      }
      flip(path_ / name, offset, bit);
      ++flips;
    }
  }
  EXPECT_GT(flips, 500);
  load();
}

TEST_F(Damage, EveryByteOfRowsIsGuarded) {
  // Rows are a small part of these files: take each byte of a stretch that holds them.
  const auto contents = read_json(path_ / "contents.json", "satrap-checkpoint");
  const auto& file = contents.at("files").at(1);
  const std::string name = file.at("name");
  ASSERT_EQ(name, "server-1.h5");
  for (const auto& extent : file.at("rows")) {
    const std::int64_t begin = extent.at(0);
    const std::int64_t end = begin + extent.at(1).get<std::int64_t>();
    for (std::int64_t offset = begin; offset < end; offset += 11) {
      flip(path_ / name, offset, 0);
      ASSERT_THAT(message_of([&] { verify(path_); }),
                  AllOf(HasSubstr(name), HasSubstr("checksum")));
      flip(path_ / name, offset, 0);
    }
  }
  verify(path_);
}

TEST_F(Damage, TruncatedAndMissingFilesAreNamed) {
  for (const auto& name : files()) {
    const std::string content = read_file(path_ / name);
    for (const std::size_t size : {std::size_t{0}, content.size() / 2, content.size() - 1}) {
      fs::resize_file(path_ / name, size);
      if (name == "contents.json" && size + 1 == content.size()) continue;  // the last line's end
      EXPECT_THAT(load_message(), HasSubstr(name)) << size << " bytes";
      EXPECT_THAT(message_of([&] { newest(folder_.path()); }), HasSubstr(name));
    }
    fs::remove(path_ / name);
    EXPECT_THAT(load_message(), HasSubstr(name)) << "missing";
    EXPECT_THAT(message_of([&] { newest(folder_.path()); }), HasSubstr(name));
    write_file_atomically(path_ / name, content);
  }
  load();
}

TEST_F(Damage, FilesOfAnotherCheckpointAreRefused) {
  for (const auto& name : {"server-0.h5", "dense.h5"}) {
    const std::string content = read_file(path_ / name);
    // The same rows of another step, and other rows of the same step.
    for (const Step step : {6, 5}) {
      const auto other = folder_.path() / "other";
      const auto path = save(other, step, make_job(all_tables(), 2, 30, step == 5 ? 2 : 1));
      if (step == 5 && name == std::string("dense.h5")) continue;
      fs::copy_file(path / name, path_ / name, fs::copy_options::overwrite_existing);
      EXPECT_THAT(load_message(),
                  AllOf(HasSubstr(name), AnyOf(HasSubstr("checksum"), HasSubstr("bytes"))));
      write_file_atomically(path_ / name, content);
    }
  }
  load();
}

TEST_F(Damage, OtherVersionsAndKindsAreRefused) {
  auto json = nlohmann::json::parse(read_file(path_ / "contents.json"));
  const auto write = [&] { write_file_atomically(path_ / "contents.json", json.dump()); };
  json["version"] = 1;
  write();
  EXPECT_THAT(load_message(), HasSubstr("format version 1; this program reads version 2"));
  json["format"] = "other";
  write();
  EXPECT_THAT(load_message(), HasSubstr("format"));
  json["kind"] = "delta";
  json.erase("checksum");
  write_json(path_ / "contents.json", "satrap-checkpoint", json);
  EXPECT_THAT(load_message(), HasSubstr("not a full checkpoint"));
}

TEST_F(Damage, ListsThatContradictAreRefused) {
  const auto good = nlohmann::json::parse(read_file(path_ / "contents.json"));
  const auto load_with = [&](auto change) {
    auto json = good;
    change(json);
    write_json(path_ / "contents.json", "satrap-checkpoint", json);
    return load_message();
  };
  using Json = nlohmann::json;
  EXPECT_THAT(load_with([](Json& json) { json["files"].erase(1); }), HasSubstr("virtual shards"));
  EXPECT_THAT(load_with([](Json& json) { json["files"][0]["name"] = "../x"; }),
              HasSubstr("outside"));
  EXPECT_THAT(load_with([](Json& json) { json["files"][0]["rows"][0][0] = -8; }),
              HasSubstr("rows outside"));
  EXPECT_THAT(load_with([](Json& json) { json["files"][0]["rows"][0][1] = 1LL << 62; }),
              HasSubstr("rows outside"));
  EXPECT_THAT(load_with([](Json& json) { json["files"][0].erase("bytes"); }), HasSubstr("bytes"));
  EXPECT_THAT(load_with([](Json& json) { json["files"] = "none"; }), HasSubstr("contents.json"));
  EXPECT_THAT(load_with([](Json& json) { json["step"] = "five"; }), HasSubstr("contents.json"));
  EXPECT_EQ(load_with([](Json&) {}), "nothing was thrown");
}

TEST_F(Damage, TheRemedyNamesAnotherCheckpoint) {
  const auto newer = save(folder_.path(), 6, job_);
  flip(newer / "server-0.h5", 5000, 3);
  EXPECT_THAT(message_of([&] { load_job(newer / "", all_tables(), 2); }),
              HasSubstr("job.resume = " + path_.string()));
  fs::remove_all(path_);
  EXPECT_THAT(message_of([&] { load_job(newer, all_tables(), 2); }), HasSubstr("from a copy"));
}

TEST_F(Damage, AMissingFileMakesNewestGoBack) {
  const auto newer = save(folder_.path(), 6, job_);
  EXPECT_EQ(newest(folder_.path()), newer);
  fs::remove(newer / "server-1.h5");
  EXPECT_EQ(newest(folder_.path()), path_);
}

TEST_F(Damage, OfTheManifestIsAnErrorForReadersOnly) {
  const auto manifest = folder_.path() / "manifest.json";
  const std::string content = read_file(manifest);
  for (const std::string& damaged : {std::string(), content.substr(1), std::string("[1]"),
                                     std::string("{\"steps\": [7]}"), content + content}) {
    write_file_atomically(manifest, damaged);
    EXPECT_THAT(message_of([&] { newest(folder_.path()); }),
                AllOf(HasSubstr("manifest.json"), HasSubstr("job.resume")));
  }
  const auto path = save(folder_.path(), 6, job_);  // a save is not lost for it
  EXPECT_EQ(newest(folder_.path()), path);
}

}  // namespace
}  // namespace satrap::checkpoint
