#include "data/row.hpp"

#include <fmt/format.h>

#include <utility>

namespace satrap::data {

std::unique_ptr<RowParser> make_row_parser(const config::Config& config) {
  return config.data.format == config::DataFormat::criteo ? make_criteo_parser(config)
                                                          : make_csv_parser(config);
}

LineReader::Options line_options(const config::DataConfig& data, RowParser& parser,
                                 std::stop_token stop) {
  LineReader::Options options;
  options.stop = std::move(stop);
  if (data.format == config::DataFormat::criteo) return options;
  options.comment = data.comment;
  if (data.header) {
    options.on_header = [&parser](std::string_view line, const std::string& where) {
      parser.read_header(line, where);
    };
  }
  return options;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string out = "'";
  for (const char c : text.substr(0, kLongest)) {
    const bool printable = c >= ' ' && c <= '~';
    out += printable ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out + (text.size() > kLongest ? "...'" : "'");
}

}  // namespace satrap::data
