#include "data/line_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "unit/data/support.hpp"

namespace satrap::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// All rows as "text@line".
std::vector<std::string> rows_of(LineReader& reader, std::int64_t at_once = 1000) {
  std::vector<std::string> out;
  for (Lines lines;; lines = {}) {
    reader.read(at_once, lines);
    if (lines.lines.empty()) return out;
    for (const Line& line : lines.lines) {
      out.push_back(std::string(line.view()) + "@" + std::to_string(line.number));
    }
  }
}

std::vector<std::string> rows_of(const std::vector<std::string>& files,
                                 LineReader::Options options = {}) {
  LineReader reader(files, std::move(options));
  return rows_of(reader);
}

class LineReaderTest : public testing::Test {
 protected:
  /// The rows of one file with this content.
  std::vector<std::string> read(std::string_view bytes, LineReader::Options options = {}) {
    return rows_of({folder_.write("file", bytes)}, std::move(options));
  }
  std::string error(std::string_view bytes, const std::string& name = "file") {
    const std::string path = folder_.write(name, bytes);
    return message_of<DataError>([&] { rows_of({path}); });
  }

  TestFolder folder_;
};

TEST_F(LineReaderTest, LineEnds) {
  EXPECT_THAT(read("a\nb\n"), ElementsAre("a@1", "b@2"));
  EXPECT_THAT(read("a\r\nb\r\n"), ElementsAre("a@1", "b@2"));
  EXPECT_THAT(read("a\nb"), ElementsAre("a@1", "b@2"));
  EXPECT_THAT(read("a\r\nb\r"), ElementsAre("a@1", "b@2"));
  EXPECT_THAT(read("a\rb\n"), ElementsAre("a\rb@1"));
}

TEST_F(LineReaderTest, BlankLinesAreNoRowsButCountAsLines) {
  EXPECT_THAT(read("\n\na\n\r\n   \nb\n\n"), ElementsAre("a@3", "b@6"));
  EXPECT_THAT(read(""), ElementsAre());
  EXPECT_THAT(read("\n\n"), ElementsAre());
}

TEST_F(LineReaderTest, TabsMakeARow) {
  EXPECT_THAT(read("\t\t\n"), ElementsAre("\t\t@1"));
}

TEST_F(LineReaderTest, ByteOrderMarkIsDroppedAtTheStartOfEachFile) {
  EXPECT_THAT(read("\xef\xbb\xbfrow\nb\n"), ElementsAre("row@1", "b@2"));
  EXPECT_THAT(read("\xef\xbb\xbf\n\xef\xbb\xbfrow\n"), ElementsAre("\xef\xbb\xbfrow@2"));
  EXPECT_THAT(read("\xef\xbb\xbf"), ElementsAre());
  const std::string a = folder_.write("a",
                                      "\xef\xbb\xbf"
                                      "1");
  const std::string b = folder_.write("b",
                                      "\xef\xbb\xbf"
                                      "2");
  EXPECT_THAT(rows_of({a, b}), ElementsAre("1@1", "2@1"));
}

TEST_F(LineReaderTest, FilesFollowEachOther) {
  const std::string a = folder_.write("a", "1\n2");  // no newline: must not run into the next file
  const std::string empty = folder_.write("empty", "");
  const std::string b = folder_.write("b.gz", gzip("3\n4\n"));
  EXPECT_THAT(rows_of({a, empty, b, a}), ElementsAre("1@1", "2@2", "3@1", "4@2", "1@1", "2@2"));
}

TEST_F(LineReaderTest, CommentsAndHeaders) {
  std::vector<std::string> headers;
  const LineReader::Options options = {
      .comment = "//", .on_header = [&](std::string_view line, const std::string& where) {
        headers.push_back(std::string(line) + " " +
                          std::filesystem::path(where).filename().string());
      }};
  const std::string a = folder_.write("a", "// c\nhead\n1\n//\n2\n");
  const std::string b = folder_.write("b", "head b\n//3\n4\n");
  EXPECT_THAT(rows_of({a, b}, options), ElementsAre("1@3", "2@5", "4@3"));
  EXPECT_THAT(headers, ElementsAre("head a:2", "head b b:1"));
}

TEST_F(LineReaderTest, NulBytesAndHighBytesPass) {
  const std::string line("a\0\xff z", 5);
  EXPECT_THAT(read(line + "\n"), ElementsAre(line + "@1"));
}

TEST_F(LineReaderTest, RowsThatCrossBlocksAreWhole) {
  // About 9 MiB: several blocks, rows from 0 to 50 kB, read in steps that end anywhere.
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 600; ++i) {
    const std::string row =
        std::to_string(i) + std::string(static_cast<std::size_t>(i * 7919 % 50'000), 'x');
    text += row + "\n";
    expected.push_back(row + "@" + std::to_string(i + 1));
  }
  const std::string plain = folder_.write("plain", text);
  const std::string packed = folder_.write("packed.gz", gzip(text));
  for (const std::string& file : {plain, packed}) {
    LineReader reader({file}, {});
    EXPECT_EQ(rows_of(reader, 7), expected);
    EXPECT_DOUBLE_EQ(reader.fraction(), 1.0);
    reader.rewind();
    EXPECT_EQ(reader.row(), 0);
    Lines all;
    reader.read(1'000, all);  // all views valid at once
    ASSERT_EQ(all.lines.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(std::string(all.lines[i].view()) + "@" + std::to_string(i + 1), expected[i]);
    }
  }
}

TEST_F(LineReaderTest, SkipAndRewind) {
  LineReader reader({folder_.write("file", "1\n\n2\n3\n4\n")}, {});
  reader.skip(2);
  EXPECT_EQ(reader.row(), 2);
  EXPECT_THAT(rows_of(reader), ElementsAre("3@4", "4@5"));
  reader.skip(5);
  EXPECT_EQ(reader.row(), 4);
  reader.rewind();
  reader.skip(100);
  EXPECT_EQ(reader.row(), 4);
}

TEST_F(LineReaderTest, FractionGrowsWithTheRows) {
  const std::string half(100'000, 'x');
  const std::string a = folder_.write("a", half + "\n");
  const std::string b = folder_.write("b", half + "\n");
  LineReader reader({a, b}, {});
  EXPECT_DOUBLE_EQ(reader.fraction(), 0.0);
  reader.skip(1);
  EXPECT_DOUBLE_EQ(reader.fraction(), 0.5);
  reader.skip(1);
  EXPECT_DOUBLE_EQ(reader.fraction(), 1.0);
}

TEST_F(LineReaderTest, GzipByContentNotByName) {
  EXPECT_THAT(read(gzip("a\nb\n")), ElementsAre("a@1", "b@2"));
  EXPECT_THAT(error("a\n", "plain.gz"), HasSubstr("plain.gz is not a gzip file"));
  EXPECT_THAT(error("", "nothing.gz"), HasSubstr("nothing.gz is not a gzip file"));
}

TEST_F(LineReaderTest, GzipOfSeveralMembers) {
  EXPECT_THAT(read(gzip("a\nb") + gzip("") + gzip("c\nd\n")), ElementsAre("a@1", "bc@2", "d@3"));
  EXPECT_THAT(read(gzip("a\n") + std::string(600'000, '\0')), ElementsAre("a@1"));
}

TEST_F(LineReaderTest, TruncatedGzipIsAnErrorAtEveryLength) {
  const std::string whole = gzip("a\nb\nc\n");
  for (std::size_t n = 2; n < whole.size(); ++n) {
    EXPECT_THAT(error(whole.substr(0, n), "cut.gz"), HasSubstr("cut.gz ends in the middle")) << n;
  }
  const std::string two = whole + whole.substr(0, whole.size() - 1);
  EXPECT_THAT(error(two, "cut.gz"), HasSubstr("cut.gz ends in the middle"));
}

TEST_F(LineReaderTest, RowsBeforeTheCutAreRead) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 2654435761U) + "\n";
  const std::string packed = gzip(text);
  LineReader reader({folder_.write("cut.gz", packed.substr(0, packed.size() / 2))}, {});
  EXPECT_THROW(reader.skip(100'000), DataError);
  EXPECT_GT(reader.row(), 30'000);
}

TEST_F(LineReaderTest, CorruptGzipIsAnError) {
  std::string bytes = gzip(std::string(5'000, 'x') + "\n");
  bytes[bytes.size() - 6] ^= 1;  // in the checksum
  EXPECT_THAT(error(bytes), HasSubstr("is corrupt"));
  EXPECT_THAT(error(gzip("a\n") + "trailing text"), HasSubstr("is corrupt"));
}

TEST_F(LineReaderTest, ALineTooLongNamesFileAndLine) {
  const std::string longest(LineReader::kMaxLine, 'x');
  EXPECT_EQ(read("a\n" + longest + "\r\n").size(), 2U);
  EXPECT_THAT(error("a\n" + longest + "x\n"), HasSubstr("file:2: the line is longer than 1 MiB"));
  EXPECT_THAT(error("a\n" + std::string(20'000'000, '\0')),
              HasSubstr("file:2: the line is longer than 1 MiB"));
}

TEST_F(LineReaderTest, AFileThatIsGoneIsAnError) {
  EXPECT_THAT(message_of<DataError>([&] { rows_of({folder_.path("gone")}); }),
              HasSubstr("gone (No such file"));
}

}  // namespace
}  // namespace satrap::data
