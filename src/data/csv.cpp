#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "data/csv_splitter.hpp"
#include "data/row.hpp"

namespace satrap::data {

namespace {

/// Rows with named columns; the config says which are the label, numbers and categories.
class CsvParser final : public RowParser {
 public:
  explicit CsvParser(const config::Config& config)
      : data_(config.data), splitter_(config.data.delimiter) {
    for (const config::SlotConfig& slot : config.slots) slots_.push_back(slot.name);
    if (!data_.columns.empty()) set_columns(data_.columns, "data.columns");
  }

  void read_header(std::string_view line, const std::string& where) override {
    std::vector<std::string> columns;
    try {
      for (const std::string_view name : splitter_.split(line)) columns.emplace_back(name);
    } catch (const BadRow& bad) {
      throw DataError(where + ": " + bad.what());
    }
    if (columns_.empty()) {
      set_columns(std::move(columns), where);
    } else if (columns != columns_) {
      throw DataError(
          fmt::format("{}: the header names the columns {}", where, fmt::join(columns, ", ")),
          fmt::format("expected {}", fmt::join(columns_, ", ")), "all files need the same columns");
    }
  }

  void parse(std::string_view line, Row& row) override {
    const std::vector<std::string_view>& fields = splitter_.split(line);
    if (fields.size() != columns_.size()) {
      throw BadRow(fmt::format("{} columns instead of {}", fields.size(), columns_.size()));
    }
    row.label = label(fields[label_]);
    row.dense.resize(numeric_.size());
    for (std::size_t i = 0; i < numeric_.size(); ++i) {
      row.dense[i] = number(fields[numeric_[i]], numeric_[i]);
    }
    row.ids.resize(categorical_.size());
    for (std::size_t i = 0; i < categorical_.size(); ++i) {
      const std::string_view text = fields[categorical_[i]];
      row.ids[i] = is_missing(text) ? kMissingCategory : FeatureId{hash_bytes(text)};
    }
  }

 private:
  void set_columns(std::vector<std::string> columns, const std::string& where) {
    columns_ = std::move(columns);
    label_ = index_of(data_.label, where);
    for (const std::string& name : data_.numeric) numeric_.push_back(index_of(name, where));
    for (const std::string& name : slots_) categorical_.push_back(index_of(name, where));
  }

  std::size_t index_of(const std::string& name, const std::string& where) const {
    const auto found = std::find(columns_.begin(), columns_.end(), name);
    if (found == columns_.end()) {
      throw ConfigError(fmt::format("{}: there is no column '{}'", where, name),
                        fmt::format("the columns are {}", fmt::join(columns_, ", ")));
    }
    return static_cast<std::size_t>(found - columns_.begin());
  }

  bool is_missing(std::string_view text) const { return text.empty() || text == data_.missing; }

  float label(std::string_view text) const {
    if (is_missing(text)) fail(label_, text, "a label");
    const auto& positive = data_.label_positive;
    if (!positive.empty()) {
      return std::find(positive.begin(), positive.end(), text) != positive.end() ? 1.0f : 0.0f;
    }
    if (text != "0" && text != "1") fail(label_, text, "the label 0 or 1");
    return text == "1" ? 1.0f : 0.0f;
  }

  float number(std::string_view text, std::size_t column) const {
    if (is_missing(text)) return std::numeric_limits<float>::quiet_NaN();
    std::string_view digits = text;
    if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
    float value = 0;
    const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    if (error == std::errc::result_out_of_range) fail(column, text, "in the range of a float");
    // from_chars reads "nan" and "inf" too.
    if (error != std::errc() || end != digits.end() || !std::isfinite(value)) {
      fail(column, text, "a finite number");
    }
    return value;
  }

  [[noreturn]] void fail(std::size_t column, std::string_view text, const char* expected) const {
    throw BadRow(fmt::format("column {} ({}): {} is not {}", column + 1, columns_[column],
                             quoted(text), expected));
  }

  const config::DataConfig data_;
  std::vector<std::string> slots_;  ///< Names of their columns.
  CsvSplitter splitter_;

  // Set by set_columns.
  std::vector<std::string> columns_;
  std::size_t label_ = 0;
  std::vector<std::size_t> numeric_;
  std::vector<std::size_t> categorical_;
};

}  // namespace

std::unique_ptr<RowParser> make_csv_parser(const config::Config& config) {
  return std::make_unique<CsvParser>(config);
}

}  // namespace satrap::data
