#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/resolve/checks.hpp"
#include "config/resolve/csv_header.hpp"
#include "config/resolve/nearest.hpp"

namespace satrap::config {

namespace {

void require(bool given, const Origins& origins, const std::string& key, std::string_view remedy) {
  if (!given) origins.refuse(key, "must be set", {}, remedy);
}

void refuse_twice(const std::vector<std::string>& names, const Origins& origins,
                  const std::string& key) {
  std::set<std::string_view> seen;
  for (const auto& name : names)
    if (!seen.insert(name).second)
      origins.refuse(key, fmt::format("names {} twice", name), {}, "name each column once");
}

/// Every column is one of categorical, numeric and label, or none of them.
void check_uses(const DataConfig& data, const Origins& origins) {
  for (const auto& name : data.numeric)
    if (std::find(data.categorical.begin(), data.categorical.end(), name) != data.categorical.end())
      origins.refuse("data.numeric", fmt::format("names {}, as data.categorical does", name), {},
                     "a column is one of the two");
  for (const auto* columns : {&data.categorical, &data.numeric})
    if (std::find(columns->begin(), columns->end(), data.label) != columns->end())
      origins.refuse("data.label", "is a feature too", "the model would see what it predicts",
                     "take it out of data.categorical and data.numeric");
}

void check_exist(const std::vector<std::string>& names, const std::vector<std::string>& columns,
                 const Origins& origins, const std::string& key) {
  for (const auto& name : names) {
    if (std::find(columns.begin(), columns.end(), name) != columns.end()) continue;
    const auto all = fmt::format("the columns are {}", fmt::join(columns, ", "));
    origins.refuse(key, fmt::format("names the column {}, which does not exist", name), {},
                   did_you_mean(name, columns, all));
  }
}

void check_csv(const DataConfig& data, const Origins& origins, Files files) {
  require(!data.label.empty(), origins, "data.label", "name the column of the label");
  require(!data.categorical.empty(), origins, "data.categorical",
          "name the columns with categories");
  require(data.header || !data.columns.empty(), origins, "data.columns",
          "name all columns of the files, or set data.header = true if their first line does");
  refuse_twice(data.columns, origins, "data.columns");
  refuse_twice(data.categorical, origins, "data.categorical");
  refuse_twice(data.numeric, origins, "data.numeric");
  check_uses(data, origins);

  auto columns = data.columns;
  if (columns.empty() && files == Files::skip) return;
  if (columns.empty()) columns = read_csv_header(data);
  check_exist(data.categorical, columns, origins, "data.categorical");
  check_exist(data.numeric, columns, origins, "data.numeric");
  check_exist({data.label}, columns, origins, "data.label");
}

}  // namespace

void complete_data(Config& config, const Origins& origins, Files files) {
  if (config.data.delimiter == "\\t") config.data.delimiter = "\t";
  require(!config.data.train.empty(), origins, "data.train",
          "name the files to train on, e.g. --data.train=data/train.tsv.gz");
  if (config.data.format == DataFormat::csv) check_csv(config.data, origins, files);
}

}  // namespace satrap::config
