#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "data/csv_splitter.hpp"
#include "data/row.hpp"
#include "unit/data/support.hpp"

namespace satrap::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> split(const std::string& line, const std::string& delimiter = ",") {
  CsvSplitter splitter(delimiter);
  std::vector<std::string> out;
  for (const std::string_view field : splitter.split(line)) out.emplace_back(field);
  return out;
}

std::string split_error(const std::string& line) {
  return message_of<BadRow>([&] { split(line); });
}

TEST(CsvSplitter, FieldsAreTrimmed) {
  EXPECT_THAT(split("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(split(" a ,\tb c , "), ElementsAre("a", "b c", ""));
  EXPECT_THAT(split(","), ElementsAre("", ""));
  EXPECT_THAT(split("a,,"), ElementsAre("a", "", ""));
  EXPECT_THAT(split(""), ElementsAre(""));
}

TEST(CsvSplitter, Delimiters) {
  EXPECT_THAT(split("a\t\tb ", "\t"), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("a  b", " "), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("1::two::3", "::"), ElementsAre("1", "two", "3"));
  EXPECT_THAT(split("a;b,c", ";"), ElementsAre("a", "b,c"));
}

TEST(CsvSplitter, QuotedFields) {
  EXPECT_THAT(split(R"("a,b",c)"), ElementsAre("a,b", "c"));
  EXPECT_THAT(split(R"( " a " , "b" )"), ElementsAre(" a ", "b"));
  EXPECT_THAT(split(R"("say ""hi""",""""," ""x""")"), ElementsAre("say \"hi\"", "\"", " \"x\""));
  EXPECT_THAT(split(R"("","a")"), ElementsAre("", "a"));
  EXPECT_THAT(split(R"(a"b,c)"), ElementsAre("a\"b", "c"));
  EXPECT_THAT(split(R"("a",)"), ElementsAre("a", ""));
}

TEST(CsvSplitter, BadQuotes) {
  EXPECT_THAT(split_error(R"(a,"b)"), HasSubstr("column 2: the quote does not close"));
  EXPECT_THAT(split_error(R"("a"",b)"), HasSubstr("column 1: the quote does not close"));
  EXPECT_THAT(split_error(R"("a"b,c)"), HasSubstr("column 1: text behind the closing quote"));
}

TEST(CsvSplitter, NulBytesAreRefused) {
  EXPECT_THAT(split_error(std::string("a,\0b", 4)), HasSubstr("NUL"));
}

class CsvTest : public testing::Test {
 protected:
  Row parse(const std::string& line) {
    Row row;
    make_row_parser(config_)->parse(line, row);
    return row;
  }
  std::string error(const std::string& line) {
    return message_of<BadRow>([&] { parse(line); });
  }
  float age(const std::string& text) { return parse("x," + text + ",cook,no").dense[0]; }

  config::Config config_ = csv_config();
};

TEST_F(CsvTest, ParsesNamedColumns) {
  const Row row = parse("17, 39, State-gov, yes");
  EXPECT_EQ(row.label, 1.0f);
  EXPECT_THAT(row.dense, ElementsAre(39.0f));
  EXPECT_THAT(row.ids, ElementsAre(FeatureId{hash_bytes("State-gov")}));
  EXPECT_EQ(parse("17,39,State-gov,no").label, 0.0f);
}

TEST_F(CsvTest, QuotingDoesNotChangeAnId) {
  EXPECT_EQ(parse(R"(1,2,"cook",no)").ids, parse("1,2, cook ,no").ids);
  EXPECT_NE(parse(R"(1,2," cook",no)").ids, parse("1,2,cook,no").ids);
}

TEST_F(CsvTest, MissingValues) {
  for (const char* missing : {"", "?", " ? ", "\"\""}) {
    const Row row = parse(fmt::format("1,{0},{0},no", missing));
    EXPECT_TRUE(std::isnan(row.dense[0]));
    EXPECT_THAT(row.ids, ElementsAre(kMissingCategory));
    EXPECT_THAT(error(fmt::format("1,2,cook,{}", missing)), HasSubstr("column 4 (label)"))
        << missing;
  }
}

TEST_F(CsvTest, SeveralPositiveTexts) {
  config_.data.label_positive = {">50K", ">50K."};
  EXPECT_EQ(parse("1,2,x,>50K").label, 1.0f);
  EXPECT_EQ(parse("1,2,x, >50K.").label, 1.0f);
  EXPECT_EQ(parse("1,2,x,<=50K.").label, 0.0f);
}

TEST_F(CsvTest, WithoutPositiveTextsTheLabelIsANumber) {
  config_.data.label_positive = {};
  EXPECT_EQ(parse("1,2,x,1").label, 1.0f);
  EXPECT_EQ(parse("1,2,x,0").label, 0.0f);
  EXPECT_THAT(error("1,2,x,yes"), HasSubstr("column 4 (label): 'yes' is not the label 0 or 1"));
}

TEST_F(CsvTest, Numbers) {
  EXPECT_EQ(age("-1.5"), -1.5f);
  EXPECT_EQ(age("+2"), 2.0f);
  EXPECT_EQ(age("1e3"), 1000.0f);
  EXPECT_EQ(age(".5"), 0.5f);
}

TEST_F(CsvTest, BadNumbers) {
  for (const char* text : {"nan", "NaN", "inf", "-inf", "infinity", "+inf", "1e", "1x", "0x10",
                           "1 2", "--1", "+-1", "++1", "+", "-", "1,5"}) {
    EXPECT_NE(error(fmt::format("x,\"{}\",cook,no", text)), "") << text;
  }
  EXPECT_THAT(error("x,nan,cook,no"), HasSubstr("column 2 (age): 'nan' is not a finite number"));
  EXPECT_THAT(error("x,1e39,cook,no"), HasSubstr("(age): '1e39' is not in the range of a float"));
}

TEST_F(CsvTest, ColumnCountThatChangesMidway) {
  EXPECT_THAT(error("1,2,cook"), HasSubstr("3 columns instead of 4"));
  EXPECT_THAT(error("1,2,cook,no,more"), HasSubstr("5 columns instead of 4"));
  EXPECT_THAT(error("1,2,cook,no,"), HasSubstr("5 columns instead of 4"));
}

TEST_F(CsvTest, AColumnMayBeNumberAndCategory) {
  add_slots(config_, {"age"});
  const Row row = parse("1,39,cook,no");
  EXPECT_THAT(row.dense, ElementsAre(39.0f));
  EXPECT_THAT(row.ids, ElementsAre(FeatureId{hash_bytes("cook")}, FeatureId{hash_bytes("39")}));
}

TEST_F(CsvTest, HeaderNamesTheColumnsInAnyOrder) {
  config_.data.columns = {};
  const auto parser = make_row_parser(config_);
  parser->read_header("label, \"job\", age", "a.csv:1");
  Row row;
  parser->parse("yes,cook,4", row);
  EXPECT_EQ(row.label, 1.0f);
  EXPECT_THAT(row.dense, ElementsAre(4.0f));

  parser->read_header("label,job,age", "b.csv:1");
  EXPECT_THAT(message_of<DataError>([&] { parser->read_header("label,age,job", "c.csv:1"); }),
              AllOf(HasSubstr("c.csv:1"), HasSubstr("expected label, job, age")));
}

TEST_F(CsvTest, AHeaderWithoutAColumnIsAnError) {
  config_.data.columns = {};
  const auto parser = make_row_parser(config_);
  EXPECT_THAT(message_of<ConfigError>([&] { parser->read_header("label,jobs,age", "a.csv:1"); }),
              AllOf(HasSubstr("a.csv:1: there is no column 'job'"), HasSubstr("label, jobs, age")));
}

}  // namespace
}  // namespace satrap::data
