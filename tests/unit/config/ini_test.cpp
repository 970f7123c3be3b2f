#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "unit/config/support.hpp"

namespace satrap::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// "key=value@where" of each setting.
std::vector<std::string> lines(const std::vector<Setting>& settings) {
  std::vector<std::string> all;
  for (const auto& s : settings) all.push_back(fmt::format("{}={}@{}", s.key, s.value, s.where));
  return all;
}

std::vector<std::string> parsed(std::string_view text) {
  return lines(parse_ini(text, "x.ini"));
}

std::string refused(std::string_view text) {
  return refusal([&] { parse_ini(text, "x.ini"); });
}

TEST(Ini, SectionsKeysAndLineNumbers) {
  EXPECT_THAT(parsed("# comment\n"
                     "[train]\n"
                     "\n"
                     "  epochs=2\n"
                     "mode =  sync\t\n"
                     "; comment\n"
                     "[ table.C* ]\n"
                     "dim = 4\n"
                     "lr = 0.1"),
              ElementsAre("train.epochs=2@x.ini:4", "train.mode=sync@x.ini:5",
                          "table.C*.dim=4@x.ini:8", "table.C*.lr=0.1@x.ini:9"));
  EXPECT_THAT(parsed(""), IsEmpty());
}

TEST(Ini, LineEndsAndByteOrderMark) {
  EXPECT_THAT(parsed("\xEF\xBB\xBF[job]\r\nseed = 3\r\n\r\n"), ElementsAre("job.seed=3@x.ini:2"));
}

TEST(Ini, ValuesKeepWhatIsNotAComment) {
  EXPECT_THAT(parsed("[data]\n"
                     "train = a#1.tsv, b=2.tsv  # both\n"
                     "delimiter = ;\n"
                     "comment = \"#\"\n"
                     "missing =\n"
                     "valid = \"x # y\" # z\n"),
              ElementsAre("data.train=a#1.tsv, b=2.tsv@x.ini:2", "data.delimiter=;@x.ini:3",
                          "data.comment=\"#\"@x.ini:4", "data.missing=@x.ini:5",
                          "data.valid=\"x # y\"@x.ini:6"));
}

TEST(Ini, RefusesWhatItDoesNotUnderstand) {
  EXPECT_THAT(refused("[job]\nseed 3\n"), HasSubstr("x.ini:2: the line \"seed 3\""));
  EXPECT_THAT(refused("[job]\nseed 3\n"), HasSubstr("an = is missing"));
  EXPECT_THAT(refused("\n[job\nseed = 3\n"), HasSubstr("x.ini:2"));
  EXPECT_THAT(refused("[job\nseed = 3\n"), HasSubstr("] is missing"));
  EXPECT_THAT(refused("[]\n"), HasSubstr("no name"));
  EXPECT_THAT(refused("[table.a#b]\n"), HasSubstr("has no #"));
  EXPECT_THAT(refused("= 3\n"), HasSubstr("no key before the ="));
  EXPECT_THAT(refused("[job]\nmy seed = 3\n"), HasSubstr("a key has no blanks"));
  EXPECT_THAT(refused(std::string_view("\0\0\n", 3)), HasSubstr("x.ini:1"));
  EXPECT_THAT(refused("[job]\nseed = 1\n[data]\n[job]\nseed = 2\n"),
              HasSubstr("x.ini:5: job.seed is given twice (first in line 2)"));
}

TEST(Ini, FilesThatCannotBeRead) {
  EXPECT_THAT(refusal([] { read_ini("no/such.ini"); }), HasSubstr("no/such.ini cannot be read"));
  EXPECT_THAT(refusal([] { read_ini("."); }), HasSubstr("cannot be read"));
}

TEST(Ini, NamesTheFile) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("ini.{}", getpid());
  std::ofstream(path) << "[job]\nseed = 3\n";
  EXPECT_THAT(lines(read_ini(path)), ElementsAre("job.seed=3@" + path.string() + ":2"));
  std::filesystem::remove(path);
}

TEST(CommandLine, TakesWhatHasADotInItsName) {
  const auto line = parse_command_line({"x.ini", "--role", "server", "--train.steps=5", "--dry-run",
                                        "--data.train", "a.tsv", "--data.valid=", "--job.seed",
                                        "-1", "--config=a.b", "--", "--job.seed=2"});
  EXPECT_THAT(lines(line.settings),
              ElementsAre("train.steps=5@command line", "data.train=a.tsv@command line",
                          "data.valid=@command line", "job.seed=-1@command line"));
  EXPECT_THAT(line.rest, ElementsAre("x.ini", "--role", "server", "--dry-run", "--config=a.b", "--",
                                     "--job.seed=2"));
}

TEST(CommandLine, RefusesAMissingValue) {
  EXPECT_THAT(refusal([] { parse_command_line({"--job.seed"}); }),
              HasSubstr("--job.seed has no value; write --job.seed=VALUE"));
  EXPECT_THAT(refusal([] {
                parse_command_line({"--job.run_dir", "--dry-run"});
              }),
              HasSubstr("--job.run_dir has no value"));
}

}  // namespace
}  // namespace satrap::config
