#include "config/value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace satrap::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
T parsed(std::string_view text) {
  T value{};
  parse_value(text, value);
  return value;
}

template <class T>
std::string problem(std::string_view text) {
  try {
    parsed<T>(text);
  } catch (const BadValue& bad) {
    return bad.problem;
  }
  return "";
}

TEST(Value, NumbersArePlainAndWhole) {
  EXPECT_EQ(parsed<std::int64_t>("-12"), -12);
  EXPECT_EQ(parsed<std::uint64_t>("18446744073709551615"),
            std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parsed<double>("1e-3"), 0.001);
  for (const auto* text : {"", "1_000", "1,000", "0x10", "2.0", " 1", "1 ", "one", "+1"})
    EXPECT_THAT(problem<std::int64_t>(text), HasSubstr("is not a whole number")) << text;
  EXPECT_THAT(problem<std::int64_t>("9223372036854775808"), HasSubstr("beyond"));
  EXPECT_THAT(problem<std::uint64_t>("-1"), HasSubstr("is not a whole number"));
  for (const auto* text : {"nan", "inf", "-inf", "NaN", "infinity"})
    EXPECT_THAT(problem<double>(text), HasSubstr("is not a finite number")) << text;
  EXPECT_THAT(problem<double>("1e999"), HasSubstr("beyond"));
  for (const auto* text : {"1e39", "-1e39", "1e-39", "-1e-39", "5e-324"})
    EXPECT_THAT(problem<double>(text), HasSubstr("beyond what single precision")) << text;
  EXPECT_THAT(problem<double>("0,5"), HasSubstr("is not a number"));
}

TEST(Value, WholeNumbersMayHaveExponents) {
  EXPECT_EQ(parsed<std::int64_t>("1e6"), 1'000'000);
  EXPECT_EQ(parsed<std::int64_t>("2.5e3"), 2500);
  EXPECT_EQ(parsed<std::int64_t>("-1E+2"), -100);
  EXPECT_EQ(parsed<std::int64_t>("9.223372036854775807e18"), 9'223'372'036'854'775'807);
  EXPECT_EQ(parsed<std::uint64_t>("18e18"), 18'000'000'000'000'000'000U);
  EXPECT_THAT(parsed<std::vector<std::int64_t>>("1e3, 5"), ElementsAre(1000, 5));
  for (const auto* text : {"e3", "-e3", ".e3", "1.e3", "1e", "1e3.5", "1e-3", "2.55e1", "1.2.3e4",
                           "1e3e3", "1e99999999999"})
    EXPECT_NE(problem<std::int64_t>(text), "") << text;
  EXPECT_THAT(problem<std::int64_t>("9.223372036854775808e18"), HasSubstr("beyond"));
  EXPECT_THAT(problem<std::int64_t>("1e999"), HasSubstr("beyond"));
}

TEST(Value, BytesMayHaveUnits) {
  const auto bytes = [](std::string_view text) {
    std::int64_t value = 0;
    parse_bytes(text, value);
    return value;
  };
  EXPECT_EQ(bytes("4096"), 4096);
  EXPECT_EQ(bytes("1e6"), 1'000'000);
  EXPECT_EQ(bytes("64K"), 65'536);
  EXPECT_EQ(bytes("3M"), 3 << 20);
  EXPECT_EQ(bytes("2G"), std::int64_t{2} << 30);
  EXPECT_EQ(bytes("8388607T"), std::int64_t{8388607} << 40);
  for (const auto* text : {"", "G", "1.5G", "1GB", "1g", "1 G", "8388608T", "-1K"})
    EXPECT_THROW(bytes(text), BadValue) << text;
}

TEST(Value, TruthAndChoices) {
  EXPECT_TRUE(parsed<bool>("true"));
  EXPECT_FALSE(parsed<bool>("false"));
  EXPECT_THAT(problem<bool>("yes"), HasSubstr("neither true nor false"));
  EXPECT_EQ(parsed<Optimizer>("rowwise_adagrad"), Optimizer::rowwise_adagrad);
  EXPECT_THAT(problem<Optimizer>("Adam"), HasSubstr("choices"));
}

TEST(Value, ListsAreCommaSeparated) {
  EXPECT_THAT(parsed<std::vector<std::int64_t>>("512,256 , 64"), ElementsAre(512, 256, 64));
  EXPECT_THAT(parsed<std::vector<std::int64_t>>(""), ElementsAre());
  EXPECT_THAT(parsed<std::vector<std::string>>(R"(a b, "c, d" ,"", "e")"),
              ElementsAre("a b", "c, d", "", "e"));
  EXPECT_THAT(problem<std::vector<std::int64_t>>("1,,2"), HasSubstr("empty element"));
  EXPECT_THAT(problem<std::vector<std::int64_t>>("1,"), HasSubstr("ends in a comma"));
  EXPECT_THAT(problem<std::vector<std::int64_t>>("1, x"), HasSubstr("is not a whole number"));
}

TEST(Value, QuotesAndEscapes) {
  EXPECT_EQ(parsed<std::string>(R"("\t")"), "\t");
  EXPECT_EQ(parsed<std::string>(R"(" a \"b\" \\ ")"), " a \"b\" \\ ");
  EXPECT_EQ(parsed<std::string>(R"(C:\temp)"), R"(C:\temp)");
  EXPECT_THAT(problem<std::string>("\"open"), HasSubstr("not closed"));
  EXPECT_THAT(problem<std::string>("\"open\\"), HasSubstr("not closed"));
  EXPECT_THAT(problem<std::string>(R"("a" b)"), HasSubstr("behind its closing quote"));
  EXPECT_THAT(problem<std::string>(R"("\q")"), HasSubstr("unknown escape \\q"));
}

TEST(Value, WhatIsPrintedParsesToTheSame) {
  for (const double value : {0.0, -0.5, 0.1, 1.0 / 3, 1e-8, 1.2e-38, 3.4e38})
    EXPECT_EQ(parsed<double>(print_value(value)), value);
  EXPECT_EQ(print_value(0.001), "0.001");
  const std::vector<std::string> texts = {"",        "plain",  " blanks ", "a,b",     "a # b",
                                          "a#b",     "#",      "\t",       "\n\r",    "\"",
                                          "default", "say \"", "\\",       "a\"b #c", "\\\""};
  for (const auto& text : texts) EXPECT_EQ(parsed<std::string>(print_value(text)), text) << text;
  EXPECT_EQ(parsed<std::vector<std::string>>(print_value(texts)), texts);
  EXPECT_EQ(find_comment(print_value(texts)), std::string::npos);
  EXPECT_EQ(print_value(std::string("default")), "\"default\"");
}

TEST(Value, CommentsStartAfterABlankOutsideQuotes) {
  EXPECT_EQ(find_comment("a # b"), 2u);
  EXPECT_EQ(find_comment("# b"), 0u);
  EXPECT_EQ(find_comment("a#b"), std::string::npos);
  EXPECT_EQ(find_comment(R"("a # b" # c)"), 8u);
  EXPECT_EQ(find_comment(R"("\" # b" # c)"), 9u);
}

}  // namespace
}  // namespace satrap::config
