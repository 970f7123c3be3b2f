#include "config/fields/rules.hpp"

namespace satrap::config {

namespace {

using C = DataConfig;

bool is_csv(const Config&, const C& c) {
  return c.format == DataFormat::csv;
}
bool shuffles(const Config&, const C& c) {
  return c.shuffle;
}
bool has_dense(const Config& config, const C&) {
  return config.dense_features() > 0;
}

Rule<std::string> separator() {
  return {"1 to 8 characters, no quote or line end", [](const std::string& v) {
            return 1 <= v.size() && v.size() <= 8 && v.find_first_of("\"\n\r") == v.npos;
          }};
}

Rule<std::string> one_line() {
  return {"without line ends",
          [](const std::string& v) { return v.find_first_of("\n\r") == v.npos; }};
}

}  // namespace

template <>
const std::vector<Field<DataConfig>>& fields() {
  static const Condition<C> csv{"with format = csv", is_csv};
  static const std::vector<Field<C>> all = {
      field("format", &C::format,
            "criteo: label, 13 integers, 26 hexadecimal categories, tab-separated; csv: what the "
            "keys below say."),
      field("train", &C::train,
            "Files to train on, in order, plain or .gz; each may be a glob. Required.",
            not_empty()),
      field("valid", &C::valid, "Files to evaluate on; none: no evaluation.", not_empty()),
      field("shuffle", &C::shuffle, "Shuffle the samples of an epoch, window by window."),
      field("shuffle_window", &C::shuffle_window,
            "Consecutive samples that are shuffled among themselves; held in memory as text.",
            between(1, 1'000'000'000), {"with shuffle = true", shuffles}),
      field("dense_transform", &C::dense_transform,
            "Of dense features: log1p: log(1 + x), negatives first set to 0; standardize: mean 0 "
            "and deviation 1; none.",
            {}, {"with dense features", has_dense}),
      field("max_bad_rows", &C::max_bad_rows,
            "Rows that may be bad: they are left out and counted. One more stops the job.",
            at_least(0)),
      field("delimiter", &C::delimiter, "What separates two values of a line; \\t is a tab.",
            separator(), csv),
      field("header", &C::header, "Whether the first line of each file names the columns.", {},
            csv),
      field("columns", &C::columns,
            "The names of all columns, in the order of the file. Required without a header; with "
            "one, "
            "what it must say.",
            not_empty(), csv),
      field("categorical", &C::categorical, "The columns that are slots, in this order. Required.",
            not_empty(), csv),
      field("numeric", &C::numeric, "The columns that are dense features, in this order.",
            not_empty(), csv),
      field("label", &C::label, "The column of the label. Required.", not_empty(), csv),
      field("label_positive", &C::label_positive,
            "Texts of the label that mean 1, every other means 0; none: the label is 0 or 1.",
            not_empty(), csv),
      field("missing", &C::missing, "A text that means a missing value, as an empty one does.",
            one_line(), csv),
      field("comment", &C::comment,
            "Lines that start with this text are passed over; empty: no line is.", one_line(), csv),
  };
  return all;
}

}  // namespace satrap::config
