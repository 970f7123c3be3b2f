#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"
#include "data/row.hpp"
#include "unit/data/support.hpp"

namespace satrap::data {
namespace {

using testing::Each;
using testing::HasSubstr;

class CriteoTest : public testing::Test {
 protected:
  Row parse(const std::string& line) {
    Row row;
    parser_->parse(line, row);
    return row;
  }
  std::string error(const std::string& line) {
    return message_of<BadRow>([&] { parse(line); });
  }

  std::unique_ptr<RowParser> parser_ = make_row_parser(criteo_config());
};

TEST_F(CriteoTest, ParsesEveryColumnInItsPlace) {
  std::string line = "1";
  for (int i = 1; i <= 13; ++i) line += fmt::format("\t{}", i * 100);
  for (int i = 1; i <= 26; ++i) line += fmt::format("\t{:08x}", i);
  const Row row = parse(line);
  EXPECT_EQ(row.label, 1.0f);
  ASSERT_EQ(row.dense.size(), 13U);
  ASSERT_EQ(row.ids.size(), 26U);
  for (std::size_t i = 0; i < 13; ++i) EXPECT_EQ(row.dense[i], 100.0f * static_cast<float>(i + 1));
  for (std::size_t i = 0; i < 26; ++i) EXPECT_EQ(raw(row.ids[i]), i + 1);
}

TEST_F(CriteoTest, MissingValues) {
  const Row row = parse(criteo_row(0, "", ""));
  EXPECT_EQ(row.label, 0.0f);
  for (const float x : row.dense) EXPECT_TRUE(std::isnan(x));
  EXPECT_THAT(row.ids, Each(kMissingCategory));
}

TEST_F(CriteoTest, AMissingCategoryIsNoHexId) {
  for (const char* id : {"00000000", "ffffffff", "0", "f", "80000000", "fffffffffffffff"}) {
    EXPECT_NE(parse(criteo_row(0, "1", id)).ids[0], kMissingCategory) << id;
  }
}

TEST_F(CriteoTest, IdsKeepAll64Bits) {
  const auto id = [&](const char* hex) { return raw(parse(criteo_row(0, "1", hex)).ids[25]); };
  EXPECT_EQ(id("80000000"), 0x80000000ULL);  // negative as an int32
  EXPECT_EQ(id("ffffffff"), 0xffffffffULL);
  EXPECT_EQ(id("8000000000000001"), 0x8000000000000001ULL);  // beyond 2^63
  EXPECT_EQ(id("FfFfFfFfFfFfFf0f"), 0xffffffffffffff0fULL);
  EXPECT_EQ(id("a"), 10U);
  EXPECT_THAT(
      error(criteo_row(0, "1", "10000000000000000")),
      HasSubstr("column 15 (C1): '10000000000000000' is not a hexadecimal id of at most 16"));
}

TEST_F(CriteoTest, Integers) {
  const auto number = [&](const char* text) { return parse(criteo_row(0, text, "a")).dense[12]; };
  EXPECT_EQ(number("0"), 0.0f);
  EXPECT_EQ(number("-3"), -3.0f);
  EXPECT_EQ(number("007"), 7.0f);
  EXPECT_EQ(number("2147483648"), 2147483648.0f);
  EXPECT_EQ(number("999999999999999999"), 1e18f);
}

TEST_F(CriteoTest, BadIntegers) {
  for (const char* text : {"-", "--1", "1.5", "1e3", "nan", "inf", "-inf", "+1", " 1", "1 ", "0x1",
                           "9999999999999999999", "99999999999999999999999999"}) {
    EXPECT_THAT(error(criteo_row(0, text, "a")),
                HasSubstr("column 2 (I1): '" + std::string(text) + "' is not an integer"))
        << text;
  }
}

TEST_F(CriteoTest, BadIds) {
  for (const char* text : {"g", "0x12", "-1", " a", "a ", "12345678.", "\"a\""}) {
    EXPECT_THAT(error(criteo_row(0, "1", text)),
                HasSubstr("column 15 (C1): '" + std::string(text) + "' is not a hexadecimal id"))
        << text;
  }
}

TEST_F(CriteoTest, BadLabels) {
  const std::string rest = criteo_row(0, "1", "a").substr(1);
  for (const char* label : {"", "2", "-1", "01", "1.0", "yes", " 1"}) {
    EXPECT_THAT(error(label + rest),
                HasSubstr("column 1 (label): '" + std::string(label) + "' is not the label 0 or 1"))
        << label;
  }
}

TEST_F(CriteoTest, ColumnCount) {
  const std::string row = criteo_row(1, "5", "a");
  EXPECT_EQ(error(row), "");
  EXPECT_THAT(error(row + "\t"), HasSubstr("41 columns instead of 40"));
  EXPECT_THAT(error(row + "\tb"), HasSubstr("41 columns instead of 40"));
  EXPECT_THAT(error("0"), HasSubstr("1 columns instead of 40"));
  EXPECT_THAT(error(row.substr(2)), HasSubstr("column 1 (label)"));  // the unlabelled test set
}

TEST_F(CriteoTest, StrippedTabsAreABadRow) {
  // What an editor leaves of a row whose last two ids are missing.
  std::string row = criteo_row(1, "5", "a");
  row.resize(row.size() - 4);
  EXPECT_THAT(error(row), HasSubstr("38 columns instead of 40: were tabs at its end stripped?"));
}

TEST_F(CriteoTest, NulBytesAreShownInTheMessage) {
  const std::string nul(1, '\0');
  EXPECT_THAT(error(criteo_row(0, "1" + nul, "a")), HasSubstr("(I1): '1\\x00' is not an integer"));
  EXPECT_THAT(error(criteo_row(0, "1", nul)), HasSubstr("(C1): '\\x00' is not a hexadecimal id"));
  EXPECT_THAT(error(nul), HasSubstr("(label): '\\x00' is not"));
}

TEST_F(CriteoTest, LongFieldsAreCutInTheMessage) {
  const std::string message = error(criteo_row(0, "1", std::string(100'000, 'z')));
  EXPECT_LT(message.size(), 200U);
  EXPECT_THAT(message, HasSubstr("zzz...'"));
}

TEST_F(CriteoTest, EveryCutOfARowIsRefused) {
  const std::string row = criteo_row(1, "-12", "80000000");
  for (std::size_t n = 0; n + 8 < row.size(); ++n) EXPECT_NE(error(row.substr(0, n)), "") << n;
}

TEST(Criteo, NeedsItsSlots) {
  config::Config config = criteo_config();
  config.slots.pop_back();
  EXPECT_THROW(make_row_parser(config), ConfigError);
}

}  // namespace
}  // namespace satrap::data
