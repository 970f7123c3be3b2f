#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "core/types.hpp"
#include "data/line_reader.hpp"

namespace satrap::data {

/// The id of a missing category, in every slot. An id like any other: it has a row of its own. No
/// id of at most 15 hexadecimal digits equals it.
inline constexpr FeatureId kMissingCategory{~std::uint64_t{0}};

/// One parsed sample, one id per slot.
struct Row {
  float label = 0;             ///< 0 or 1
  std::vector<float> dense;    ///< [dense_features] not transformed; NaN where missing
  std::vector<FeatureId> ids;  ///< [slots]
};

/// What is wrong with a row, without file and line, which the parser does not know.
class BadRow : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Turns rows of text into samples. Keeps scratch memory, so not thread-safe.
class RowParser {
 public:
  virtual ~RowParser() = default;

  /// Takes the names of the columns from the header line of a file. Throws DataError naming `where`
  /// if they do not fit the config or an earlier header.
  virtual void read_header(std::string_view line, const std::string& where) = 0;

  /// Replaces `row`. Throws BadRow naming the column; `row` is then unspecified.
  virtual void parse(std::string_view line, Row& row) = 0;
};

/// For Config::data. Throws ConfigError if the config names columns that do not exist.
std::unique_ptr<RowParser> make_row_parser(const config::Config& config);
std::unique_ptr<RowParser> make_criteo_parser(const config::Config& config);
std::unique_ptr<RowParser> make_csv_parser(const config::Config& config);

/// Which lines are rows, for `data`; headers go to `parser`, which must outlive the LineReader.
LineReader::Options line_options(const config::DataConfig& data, RowParser& parser,
                                 std::stop_token stop = {});

/// `text` in quotes for a message: what cannot be printed as \xNN, cut after 40 bytes.
std::string quoted(std::string_view text);

}  // namespace satrap::data
