#include "store/recency.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/random.hpp"

namespace satrap::store {
namespace {

/// Rows of one table, with their bins and the times of their last touches.
class TouchedRows {
  auto sweep() {
    return [this](const Recency::Renumbering& renumbering) {
      ++sweeps_;
      for (std::size_t bin = 1; bin < Recency::kBins; ++bin) {
        if (renumbering.bin[bin] != 0 && renumbering.bin[bin] == renumbering.bin[bin - 1]) {
          ++merges_;
          break;
        }
      }
      Recency::RowsPerBin rows{};
      for (std::size_t row = 0; row < bins_.size(); ++row) {
        if (times_[row] == 0) continue;
        bins_[row] = renumbering(bins_[row], static_cast<std::uint8_t>(row * 37));
        ++rows[bins_[row]];
      }
      return rows;
    };
  }

 public:
  TouchedRows(std::size_t rows, std::int64_t capacity)
      : bins_(rows), times_(rows), recency_(capacity) {}

  void touch(const std::vector<std::size_t>& batch) {
    ++time_;
    recency_.begin_batch(static_cast<std::int64_t>(batch.size()), sweep());
    std::vector<std::size_t> missing;
    for (const std::size_t row : batch) {
      if (times_[row] == 0 || recency_.dead(bins_[row])) {
        missing.push_back(row);
      } else {
        bins_[row] = recency_.touch(bins_[row]);
        times_[row] = time_;
      }
    }
    recency_.make_room(static_cast<std::int64_t>(missing.size()));
    for (const std::size_t row : missing) {
      bins_[row] = recency_.enter(recency_.next());
      times_[row] = time_;
    }
  }

  /// Rows in earlier bins were touched earlier, no bin holds more than its grain, nothing is lost.
  void check(std::int64_t largest_bin) const {
    std::vector<std::size_t> live;
    for (std::size_t row = 0; row < bins_.size(); ++row) {
      if (times_[row] > 0 && !recency_.dead(bins_[row])) live.push_back(row);
    }
    ASSERT_EQ(static_cast<std::int64_t>(live.size()), recency_.live());
    std::sort(live.begin(), live.end(),
              [&](std::size_t a, std::size_t b) { return bins_[a] < bins_[b]; });
    Recency::RowsPerBin sizes{};
    std::array<std::int64_t, Recency::kBins> first{}, last{};
    first.fill(time_);
    for (const std::size_t row : live) {
      const Recency::Bin bin = bins_[row];
      ++sizes[bin];
      first[bin] = std::min(first[bin], times_[row]);
      last[bin] = std::max(last[bin], times_[row]);
    }
    std::int64_t latest = 0;
    std::uint32_t stamp = 0;
    for (std::size_t bin = 0; bin < Recency::kBins; ++bin) {
      if (sizes[bin] == 0) continue;
      EXPECT_LE(sizes[bin], largest_bin);
      EXPECT_LE(latest, first[bin]);
      latest = last[bin];
      EXPECT_LT(stamp, recency_.stamp(static_cast<Recency::Bin>(bin)));
      stamp = recency_.stamp(static_cast<Recency::Bin>(bin));
    }
  }

  int sweeps() const noexcept { return sweeps_; }
  int merges() const noexcept { return merges_; }
  const Recency& recency() const noexcept { return recency_; }

 private:
  std::vector<Recency::Bin> bins_;
  std::vector<std::int64_t> times_;
  Recency recency_;
  std::int64_t time_ = 0;
  int sweeps_ = 0;
  int merges_ = 0;
};

/// n distinct rows, low ones far more often than high ones: bins empty slowly.
std::vector<std::size_t> random_batch(RandomSequence& random, std::size_t rows, std::size_t n) {
  std::vector<std::size_t> batch;
  while (batch.size() < n) {
    const double u = random.uniform();
    const auto row = static_cast<std::size_t>(u * u * u * static_cast<double>(rows));
    if (std::find(batch.begin(), batch.end(), row) == batch.end()) batch.push_back(row);
  }
  return batch;
}

TEST(Recency, OrderSurvivesRenumberingAndMerging) {
  for (const std::int64_t capacity : {0, 2000, 1500}) {
    TouchedRows rows(2000, capacity);
    RandomSequence random(1, RandomStream::shuffle);
    rows.touch(random_batch(random, 2000, 900));
    for (int i = 0; i < 20'000; ++i) {
      rows.touch(random_batch(random, 2000, 1 + random.below(3)));
      if (i % 500 == 0) rows.check(62);
    }
    EXPECT_GT(rows.sweeps(), 2);
    // With evictions the oldest bins leave before there are many.
    EXPECT_EQ(rows.merges() > 0, capacity != 1500);
  }
}

TEST(Recency, MakeRoomDropsTheOldestBinsAndNoMore) {
  TouchedRows rows(1000, 320);
  for (std::size_t i = 0; i < 320; ++i) rows.touch({i});
  EXPECT_EQ(rows.recency().live(), 320);
  rows.touch({900});
  EXPECT_EQ(rows.recency().live(), 311);  // A bin of ten made room for one.
  for (std::size_t i = 901; i < 910; ++i) rows.touch({i});
  EXPECT_EQ(rows.recency().live(), 320);
  rows.check(10);
}

}  // namespace
}  // namespace satrap::store
