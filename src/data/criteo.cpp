#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "core/error.hpp"
#include "data/row.hpp"

namespace satrap::data {

namespace {

constexpr std::size_t kIntegers = 13;
constexpr std::size_t kCategories = 26;
constexpr std::size_t kColumns = 1 + kIntegers + kCategories;
constexpr std::uint8_t kNoDigit = 0xff;

constexpr std::array<std::uint8_t, 256> hex_digits() {
  std::array<std::uint8_t, 256> value{};
  value.fill(kNoDigit);
  for (std::uint8_t i = 0; i < 10; ++i) value['0' + i] = i;
  for (std::uint8_t i = 0; i < 6; ++i) {
    value['a' + i] = value['A' + i] = static_cast<std::uint8_t>(10 + i);
  }
  return value;
}
constexpr auto kHexDigits = hex_digits();

/// Label, I1 to I13, C1 to C26, separated by tabs.
class CriteoParser final : public RowParser {
 public:
  void read_header(std::string_view, const std::string&) override {}  // the format has none

  void parse(std::string_view line, Row& row) override {
    row.dense.resize(kIntegers);
    row.ids.resize(kCategories);
    line_ = line;
    at_ = line.data();
    end_ = at_ + line.size();
    column_ = 0;
    at_line_end_ = false;
    row.label = label();
    for (float& value : row.dense) value = integer();
    for (FeatureId& id : row.ids) id = category();
    if (!at_line_end_) fail_column_count();
  }

 private:
  bool at_field_end() const { return at_ == end_ || *at_ == '\t'; }

  void start_field() {
    if (at_line_end_) fail_column_count();
    ++column_;
    field_ = at_;
  }
  void end_field(const char* expected) {
    if (!at_field_end()) fail(expected);
    step_over_tab();
  }
  void step_over_tab() {
    if (at_ == end_) {
      at_line_end_ = true;
    } else {
      ++at_;
    }
  }

  float label() {
    start_field();
    const bool positive = !at_field_end() && *at_ == '1';
    if (!at_field_end() && (*at_ == '0' || *at_ == '1')) ++at_;
    if (at_ == field_) fail("the label 0 or 1");
    end_field("the label 0 or 1");
    return positive ? 1.0f : 0.0f;
  }

  float integer() {
    start_field();
    if (at_field_end()) {
      step_over_tab();
      return std::numeric_limits<float>::quiet_NaN();
    }
    const bool negative = *at_ == '-';
    if (negative) ++at_;
    const char* digits = at_;
    std::uint64_t value = 0;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      value = value * 10 + static_cast<std::uint64_t>(*at_ - '0');
    }
    constexpr std::ptrdiff_t kMostDigits = 18;  // fits 64 bits whatever the digits
    if (at_ == digits || at_ - digits > kMostDigits) fail("an integer of at most 18 digits");
    end_field("an integer of at most 18 digits");
    const auto number = static_cast<float>(static_cast<std::int64_t>(value));
    return negative ? -number : number;
  }

  FeatureId category() {
    start_field();
    if (at_field_end()) {
      step_over_tab();
      return kMissingCategory;
    }
    std::uint64_t value = 0;
    for (; at_ != end_; ++at_) {
      const std::uint8_t digit = kHexDigits[static_cast<unsigned char>(*at_)];
      if (digit == kNoDigit) break;
      value = value << 4 | digit;
    }
    constexpr std::ptrdiff_t kMostDigits = 16;
    if (at_ - field_ > kMostDigits) fail("a hexadecimal id of at most 16 digits (64 bits)");
    end_field("a hexadecimal id");
    return FeatureId{value};
  }

  [[noreturn]] void fail(const char* expected) const {
    const char* field_end = std::find(field_, end_, '\t');
    const std::string_view field(field_, static_cast<std::size_t>(field_end - field_));
    throw BadRow(fmt::format("column {} ({}): {} is not {}", column_, column_name(), quoted(field),
                             expected));
  }

  [[noreturn]] void fail_column_count() const {
    const auto columns = static_cast<std::size_t>(std::count(line_.begin(), line_.end(), '\t')) + 1;
    throw BadRow(fmt::format("{} columns instead of {}{}", columns, kColumns,
                             columns < kColumns ? ": were tabs at its end stripped?" : ""));
  }

  std::string column_name() const {
    if (column_ == 1) return "label";
    if (column_ <= 1 + kIntegers) return fmt::format("I{}", column_ - 1);
    return fmt::format("C{}", column_ - 1 - kIntegers);
  }

  std::string_view line_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  const char* field_ = nullptr;
  std::size_t column_ = 0;  ///< From 1.
  bool at_line_end_ = false;
};

}  // namespace

std::unique_ptr<RowParser> make_criteo_parser(const config::Config& config) {
  if (config.slots.size() != kCategories) {
    throw ConfigError(fmt::format("the criteo format has {} slots, the config {}", kCategories,
                                  config.slots.size()));
  }
  return std::make_unique<CriteoParser>();
}

}  // namespace satrap::data
