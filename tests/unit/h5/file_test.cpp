#include "h5/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>

#include "core/error.hpp"
#include "support/golden.hpp"

namespace satrap::h5 {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class FileTest : public testing::Test {
 protected:
  FileTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~FileTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / "satrap_h5_test";
};

template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const CheckpointError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST_F(FileTest, AttributesComeBack) {
  const std::string long_text(200'000, 'x');
  {
    File file = File::create(path("a.h5"));
    file.set_attribute<std::int64_t>("int", -3);
    file.set_attribute<std::uint64_t>("uint", ~0ULL);
    file.set_attribute("real", 0.1);
    file.set_attribute("text", "größer");
    file.set_attribute("empty", "");
    file.set_attribute("long", long_text);
    file.set_attribute("ints", std::vector<std::int64_t>{1, 2, 3});
    file.set_attribute("none", std::vector<std::int64_t>{});
    file.set_attribute("reals", std::vector<double>{0.5});
    file.set_attribute("texts", std::vector<std::string>{"a", "", "ccc"});
    file.close();
  }
  const File file = File::open(path("a.h5"));
  EXPECT_EQ(file.attribute<std::int64_t>("int"), -3);
  EXPECT_EQ(file.attribute<double>("int"), -3.0);
  EXPECT_EQ(file.attribute<std::uint64_t>("uint"), ~0ULL);
  EXPECT_EQ(file.attribute<double>("real"), 0.1);
  EXPECT_EQ(file.attribute<std::string>("text"), "größer");
  EXPECT_EQ(file.attribute<std::string>("empty"), "");
  EXPECT_EQ(file.attribute<std::string>("long"), long_text);
  EXPECT_THAT(file.attribute<std::vector<std::int64_t>>("ints"), ElementsAre(1, 2, 3));
  EXPECT_THAT(file.attribute<std::vector<std::int64_t>>("int"), ElementsAre(-3));
  EXPECT_THAT(file.attribute<std::vector<std::int64_t>>("none"), ElementsAre());
  EXPECT_THAT(file.attribute<std::vector<double>>("reals"), ElementsAre(0.5));
  EXPECT_THAT(file.attribute<std::vector<std::string>>("texts"), ElementsAre("a", "", "ccc"));
  EXPECT_TRUE(file.has_attribute("text"));
  EXPECT_FALSE(file.has_attribute("Text"));
  EXPECT_EQ(file.attributes().size(), 10U);
  EXPECT_THROW(file.attribute<std::int64_t>("real"), CheckpointError);
  EXPECT_THROW(file.attribute<std::int64_t>("ints"), CheckpointError);
  EXPECT_THROW(file.attribute<std::string>("int"), CheckpointError);
  EXPECT_THROW(file.attribute<double>("text"), CheckpointError);
  EXPECT_THROW(file.attribute<double>("missing"), CheckpointError);
}

TEST_F(FileTest, DatasetsComeBackWholeAndByRows) {
  std::vector<float> values(12);
  std::iota(values.begin(), values.end(), 0.5F);
  {
    File file = File::create(path("d.h5"));
    file.write_dataset<float>("deep/er/x", {4, 3}, values);
    Dataset by_rows = file.create_dataset<float>("y", {4, 3});
    const auto bytes = std::as_bytes(std::span(values));
    by_rows.write_rows(1, 3, bytes.subspan(12));
    by_rows.write_rows(0, 1, bytes.first(12));
    file.write_dataset<std::uint64_t>("ids", {2}, std::vector<std::uint64_t>{~0ULL, 1});
    file.create_dataset<float>("empty", {4, 0});
    file.write_dataset<double>("scalar", {}, std::vector<double>{2.5});
  }
  const File file = File::open(path("d.h5"));
  EXPECT_THAT(file.children(), ElementsAre("deep", "empty", "ids", "scalar", "y"));
  EXPECT_TRUE(file.has("deep/er/x"));
  EXPECT_FALSE(file.has("deep/less/x"));
  EXPECT_TRUE(file.is_group("deep"));
  EXPECT_FALSE(file.is_group("y"));
  EXPECT_EQ(file.group("deep/er").dataset("x").read<float>(), values);
  EXPECT_EQ(file.dataset("y").read<float>(), values);
  EXPECT_THAT(file.dataset("y").shape(), ElementsAre(4, 3));
  EXPECT_THAT(file.dataset("ids").read<std::uint64_t>(), ElementsAre(~0ULL, 1ULL));
  EXPECT_TRUE(file.dataset("empty").read<float>().empty());
  EXPECT_THAT(file.dataset("scalar").read<float>(), ElementsAre(2.5F));

  std::vector<float> rows(6);
  const auto bytes_of_rows = std::as_writable_bytes(std::span(rows));
  file.dataset("y").read_rows(2, 2, bytes_of_rows);
  EXPECT_THAT(rows, ElementsAre(6.5, 7.5, 8.5, 9.5, 10.5, 11.5));
  EXPECT_THROW(file.dataset("y").read_rows(3, 2, bytes_of_rows), CheckpointError);
  EXPECT_THROW(file.dataset("y").read_rows(2, 1, bytes_of_rows), CheckpointError);
  const auto [offset, bytes] = file.dataset("y").extent();
  EXPECT_GT(offset, 0);
  EXPECT_EQ(bytes, 48);
}

/// Elements that no C++ type of this layer stands for are given as bytes; HDF5 knows their meaning.
TEST_F(FileTest, SmallNumbersKeepTheirBitsAndTheirMeaning) {
  const std::vector<std::uint16_t> halves = {0x3c00, 0xc100, 0x0001, 0x7bff};  // 1, -2.5, 2^-24
  const std::vector<std::int8_t> ints = {-128, 0, 1, 127};
  {
    File file = File::create(path("s.h5"));
    file.create_dataset("half", Number::float16, {4})
        .write_rows(0, 4, std::as_bytes(std::span(halves)));
    file.create_dataset("int", Number::int8, {4}).write_rows(0, 4, std::as_bytes(std::span(ints)));
    file.write_dataset<std::uint16_t>("bits", {4}, halves);
  }
  const File file = File::open(path("s.h5"));
  EXPECT_THAT(file.dataset("half").read<float>(), ElementsAre(1.0F, -2.5F, 0x1p-24F, 65504.0F));
  EXPECT_THAT(file.dataset("int").read<std::int64_t>(), ElementsAre(-128, 0, 1, 127));
  EXPECT_EQ(file.dataset("bits").read<std::uint16_t>(), halves);
  std::vector<std::uint16_t> bits(4);
  file.dataset("half").read_rows(0, 4, std::as_writable_bytes(std::span(bits)));
  EXPECT_EQ(bits, halves);
  EXPECT_EQ(file.dataset("half").extent().second, 8);
  EXPECT_EQ(file.dataset("int").extent().second, 4);
}

TEST_F(FileTest, VirtualDatasetsJoinFiles) {
  for (int k = 0; k < 3; ++k) {
    File part = File::create(path("part-" + std::to_string(k) + ".h5"));
    const std::vector<float> values(static_cast<std::size_t>(k) * 2, static_cast<float>(k));
    part.write_dataset<float>("x", {k, 2}, values);
  }
  {
    File top = File::create(path("top.h5"));
    const std::vector<VirtualPart> parts = {
        {"part-0.h5", "x", 0}, {"part-1.h5", "x", 1}, {"part-2.h5", "x", 2}};
    top.create_virtual("all", Number::float32, {3, 2}, parts);
    top.create_virtual("nothing", Number::float32, {0, 2}, {});
  }
  const File top = File::open(path("top.h5"));
  EXPECT_THAT(top.dataset("all").read<float>(), ElementsAre(1, 1, 2, 2, 2, 2));
  EXPECT_TRUE(top.dataset("nothing").read<float>().empty());
}

TEST_F(FileTest, LinksShowObjectsOfOtherFiles) {
  {
    File part = File::create(path("part.h5"));
    part.write_dataset<double>("inner/x", {2}, std::vector<double>{1, 2});
    File top = File::create(path("top.h5"));
    top.link("part", "part.h5", "/inner");
  }
  std::vector<double> values(2);
  File::open(path("top.h5")).dataset("part/x").read(std::span(values));
  EXPECT_THAT(values, ElementsAre(1, 2));
  std::filesystem::remove(path("part.h5"));
  EXPECT_THAT(message_of([&] { File::open(path("top.h5")).dataset("part/x"); }),
              HasSubstr("part.h5"));
}

TEST_F(FileTest, EqualContentGivesEqualBytes) {
  std::vector<std::string> contents;
  for (const char* name : {"one.h5", "two.h5"}) {
    // HDF5's time stamps count seconds.
    if (!contents.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(1001));
    File file = File::create(path(name));
    file.set_attribute("text", "same");
    file.create_group("group");
    file.write_dataset<double>("on/the/way/x", {2}, std::vector<double>{1, 2});
    file.close();
    std::ifstream in(path(name), std::ios::binary);
    contents.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  EXPECT_EQ(contents[0], contents[1]);
}

TEST_F(FileTest, MessagesSayWhatAndWhereAndWhy) {
  EXPECT_THAT(message_of([&] { File::open(path("missing.h5")); }),
              testing::AllOf(HasSubstr("missing.h5"), HasSubstr("No such file")));
  std::ofstream(path("text.h5")) << "not HDF5";
  EXPECT_THAT(message_of([&] { File::open(path("text.h5")); }), HasSubstr("text.h5"));
  File file = File::create(path("a.h5"));
  const Group group = file.create_group("inner");
  EXPECT_THAT(message_of([&] { group.dataset("nothing"); }),
              testing::AllOf(HasSubstr("nothing"), HasSubstr("/inner"), HasSubstr("a.h5")));
  EXPECT_THROW(file.create_group("inner"), CheckpointError);
}

TEST_F(FileTest, HandlesMove) {
  File file = File::create(path("a.h5"));
  Group one = file.create_group("one");
  Group two = file.create_group("two");
  one.set_attribute("name", "one");
  two.set_attribute("name", "two");
  one = std::move(two);
  EXPECT_EQ(one.attribute<std::string>("name"), "two");
  const Group three = std::move(one);
  EXPECT_EQ(three.attribute<std::string>("name"), "two");
}

TEST(Golden, FilesOfH5pyCanBeRead) {
  const auto files = support::golden_files();
  if (files.empty()) GTEST_SKIP() << "no folder of reference numbers ($SATRAP_GOLDEN)";
  for (const auto& path : files) {
    const File file = File::open(path);
    for (const auto& name : file.children()) {
      if (!file.group(name).has_attribute("kind")) continue;
      EXPECT_FALSE(file.group(name).attribute<std::string>("kind").empty());
    }
    if (!file.has_attribute("model")) continue;
    EXPECT_FALSE(file.attribute<std::string>("model").empty());
    EXPECT_GT(file.attribute<std::int64_t>("dim"), 0);
    EXPECT_EQ(file.attribute<std::vector<std::string>>("pooling").size(),
              file.group("init/tables").children().size());
    EXPECT_EQ(file.dataset("steps/1/labels").shape().size(), 1U);
  }
}

}  // namespace
}  // namespace satrap::h5
