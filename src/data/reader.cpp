#include "data/reader.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/log.hpp"
#include "data/line_reader.hpp"
#include "data/row.hpp"
#include "data/window.hpp"

namespace satrap::data {

namespace {

constexpr std::int64_t kSequentialWindow = 4096;  ///< Rows read ahead where nothing is shuffled.
constexpr std::int64_t kMostWarnings = 10;
constexpr std::size_t kLinesAhead = 4;

/// A shuffled line is likely to be in no cache.
void prefetch(const Line& line) {
  constexpr std::uint32_t kCacheLine = 64;
  for (std::uint32_t i = 0; i < std::min(line.size, 6 * kCacheLine); i += kCacheLine) {
    __builtin_prefetch(line.text + i);
  }
}

}  // namespace

class SampleReader::Impl {
 public:
  Impl(const config::Config& config, std::vector<std::string> files, Order order,
       DenseScaling scaling, std::stop_token stop)
      : config_(config),
        parser_(make_row_parser(config)),
        scaling_(std::move(scaling)),
        name_(files.size() == 1 ? files.front() + " holds"
                                : fmt::format("{} data files hold", files.size())),
        text_(LineReader(std::move(files), line_options(config.data, *parser_, std::move(stop))),
              order == Order::shuffled ? config.data.shuffle_window : kSequentialWindow,
              order == Order::shuffled, config.job.seed) {}

  void seek(Position position) {
    if (position.epoch != text_.position().epoch) bad_in_epoch_ = 0;
    text_.seek(position);
    step_ = {};
  }
  Position position() const noexcept { return text_.position(); }

  std::int64_t next_step(std::int64_t batch) {
    SATRAP_EXPECT(batch > 0);
    text_.read(batch, step_);
    if (step_.lines.empty()) {
      const Position end = position();
      if (end.sample == 0) {
        throw DataError(name_ + " no sample", "every line is blank or a comment",
                        "check data.train and data.valid");
      }
      seek({end.epoch + 1, 0});
    }
    return static_cast<std::int64_t>(step_.lines.size());
  }

  void parse(std::int64_t first, std::int64_t last, SampleBatch& out) {
    SATRAP_EXPECT(0 <= first && first <= last &&
                  last <= static_cast<std::int64_t>(step_.lines.size()));
    if (!transform_) make_transform();
    const auto begin = static_cast<std::size_t>(first);
    const auto end = static_cast<std::size_t>(last);
    resize(out, end - begin);
    std::size_t n = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (i + kLinesAhead < end) prefetch(step_.lines[i + kLinesAhead]);
      if (parse_row(step_.lines[i])) store_row(out, n++);
    }
    resize(out, n);
  }

  std::int64_t bad_rows() const noexcept { return bad_rows_; }
  double fraction() const noexcept { return text_.fraction(); }

 private:
  void make_transform() {
    if (scaling_.mean.empty()) scaling_ = fit_dense_scaling(config_);
    transform_.emplace(config_.data.dense_transform, scaling_);
  }

  bool parse_row(const Line& line) {
    try {
      parser_->parse(line.view(), row_);
      transform_->apply(row_.dense);
      return true;
    } catch (const BadRow& bad) {
      count_bad_row(fmt::format("{}: {}", text_.where(line), bad.what()));
      return false;
    }
  }

  void count_bad_row(const std::string& problem) {
    if (bad_in_epoch_ == config_.data.max_bad_rows) {
      throw DataError(problem, fmt::format("data.max_bad_rows is {}", config_.data.max_bad_rows),
                      "repair the row, or raise data.max_bad_rows to leave such rows out");
    }
    ++bad_in_epoch_;
    if (++bad_rows_ <= kMostWarnings) {
      spdlog::warn("left out a bad row, {}{}", problem,
                   bad_rows_ == kMostWarnings ? "; further ones are only counted" : "");
    }
  }

  /// n samples of one id per slot. Growing keeps what is there.
  void resize(SampleBatch& out, std::size_t n) const {
    const std::size_t slots = config_.slots.size();
    out.labels.resize(n);
    out.dense.resize(n * static_cast<std::size_t>(config_.dense_features()));
    out.slots.resize(slots);
    for (SlotIds& slot : out.slots) {
      slot.ids.resize(n);
      slot.offsets.resize(n + 1);
      std::iota(slot.offsets.begin(), slot.offsets.end(), 0U);
    }
  }

  void store_row(SampleBatch& out, std::size_t i) const {
    out.labels[i] = row_.label;
    std::copy(row_.dense.begin(), row_.dense.end(),
              out.dense.begin() + static_cast<std::ptrdiff_t>(i * row_.dense.size()));
    for (std::size_t s = 0; s < row_.ids.size(); ++s) out.slots[s].ids[i] = row_.ids[s];
  }

  const config::Config config_;
  std::unique_ptr<RowParser> parser_;
  DenseScaling scaling_;
  const std::string name_;                     ///< Of the files, with a verb.
  std::optional<DenseTransformer> transform_;  ///< Made when first needed: it may read data.
  WindowedLines text_;
  Lines step_;
  Row row_;
  std::int64_t bad_rows_ = 0;
  std::int64_t bad_in_epoch_ = 0;
};

void check_first_sample(const config::Config& config, const std::vector<std::string>& files) {
  const auto dense = static_cast<std::size_t>(config.dense_features());
  const DenseScaling none{std::vector<float>(dense, 0.0f), std::vector<float>(dense, 1.0f)};
  SampleReader reader(config, files, SampleReader::Order::sequential, none);
  reader.next_step(1);
  SampleBatch first;
  if (config.data.max_bad_rows == 0) reader.parse(0, 1, first);
}

SampleReader::SampleReader(const config::Config& config, std::vector<std::string> files,
                           Order order, DenseScaling scaling, std::stop_token stop)
    : impl_(std::make_unique<Impl>(config, std::move(files), order, std::move(scaling),
                                   std::move(stop))) {}

SampleReader::~SampleReader() = default;

void SampleReader::seek(Position position) {
  impl_->seek(position);
}
Position SampleReader::position() const noexcept {
  return impl_->position();
}
std::int64_t SampleReader::next_step(std::int64_t batch) {
  return impl_->next_step(batch);
}
void SampleReader::parse(std::int64_t first, std::int64_t last, SampleBatch& out) {
  impl_->parse(first, last, out);
}
std::int64_t SampleReader::bad_rows() const noexcept {
  return impl_->bad_rows();
}
double SampleReader::fraction() const noexcept {
  return impl_->fraction();
}

}  // namespace satrap::data
