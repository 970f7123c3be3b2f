#include "data/dense_transform.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "data/files.hpp"
#include "data/line_reader.hpp"
#include "data/row.hpp"

namespace satrap::data {

namespace {

/// Mean and variance in one pass (Welford 1962).
struct Moments {
  double n = 0;
  double mean = 0;
  double squares = 0;  ///< Σ (x - mean)²

  void add(double x) {
    n += 1;
    const double from_old_mean = x - mean;
    mean += from_old_mean / n;
    squares += from_old_mean * (x - mean);
  }
  double inverse_std() const { return squares > 0 ? std::sqrt(n / squares) : 1.0; }
};

/// Moments of each dense feature over the good rows of `text`, added to `moments`.
void add_rows(const Lines& text, RowParser& parser, std::vector<Moments>& moments) {
  Row row;
  for (const Line& line : text.lines) {
    try {
      parser.parse(line.view(), row);
    } catch (const BadRow&) {
      continue;  // whoever reads it as a sample reports it
    }
    moments.resize(row.dense.size());
    for (std::size_t i = 0; i < row.dense.size(); ++i) {
      if (!std::isnan(row.dense[i])) moments[i].add(row.dense[i]);
    }
  }
}

}  // namespace

DenseScaling fit_dense_scaling(const config::Config& config) {
  if (config.data.dense_transform != config::DenseTransform::standardize) return {};
  const auto parser = make_row_parser(config);
  LineReader reader(expand_files(config.data.train), line_options(config.data, *parser));
  std::vector<Moments> moments;
  while (reader.row() < kScalingSamples) {
    constexpr std::int64_t kRowsAtOnce = 4096;
    Lines text;
    reader.read(std::min(kRowsAtOnce, kScalingSamples - reader.row()), text);
    if (text.lines.empty()) break;
    add_rows(text, *parser, moments);
  }
  if (moments.empty() && config.dense_features() > 0) {
    throw DataError("cannot standardize the dense features", "data.train has no good sample");
  }
  DenseScaling scaling;
  for (const Moments& m : moments) {
    scaling.mean.push_back(static_cast<float>(m.mean));
    scaling.inverse_std.push_back(static_cast<float>(m.inverse_std()));
  }
  return scaling;
}

DenseTransformer::DenseTransformer(config::DenseTransform kind, DenseScaling scaling)
    : kind_(kind), scaling_(std::move(scaling)) {}

void DenseTransformer::apply(std::span<float> values) const {
  switch (kind_) {
    case config::DenseTransform::log1p:
      // max(NaN, 0) would be NaN or 0 by the order of its arguments: say what is meant.
      for (float& x : values) x = x > 0.0f ? std::log1p(x) : 0.0f;
      break;
    case config::DenseTransform::standardize:
      SATRAP_EXPECT(values.size() == scaling_.mean.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        const float x = (values[i] - scaling_.mean[i]) * scaling_.inverse_std[i];
        values[i] = std::isnan(x) ? 0.0f : x;
      }
      break;
    case config::DenseTransform::none:
      for (float& x : values) x = std::isnan(x) ? 0.0f : x;
      break;
  }
}

}  // namespace satrap::data
