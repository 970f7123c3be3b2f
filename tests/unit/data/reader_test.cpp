#include "data/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <stop_token>
#include <thread>

#include "core/error.hpp"
#include "unit/data/support.hpp"

namespace satrap::data {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

using Order = SampleReader::Order;

/// Samples 0 ... n-1 of two files and a half, each with its number as the dense feature.
class ReaderTest : public testing::Test {
 protected:
  ReaderTest() { config_.data.shuffle_window = 16; }

  void write_samples(int n) {
    files_.clear();
    std::string text;
    for (int i = 0; i < n; ++i) {
      if (i == n / 2) {
        files_.push_back(folder_.write("a.csv", text));
        text = "\n";  // a blank line is no sample
      }
      text += fmt::format("x,{},job{},{}\n", i, i % 5, i % 3 == 0 ? "yes" : "no");
    }
    files_.push_back(folder_.write("b.csv.gz", gzip(text)));
  }

  SampleReader reader(Order order) { return SampleReader(config_, files_, order); }

  /// The numbers of the samples of the next step, which it may parse in two parts.
  std::vector<int> step(SampleReader& from, std::int64_t batch, std::int64_t split = 0) {
    const std::int64_t n = from.next_step(batch);
    std::vector<int> out;
    SampleBatch part;
    split = std::min(split, n);
    for (const auto& [first, last] : {std::pair(split, n), std::pair(std::int64_t{0}, split)}) {
      from.parse(first, last, part);
      std::vector<int> numbers(part.dense.begin(), part.dense.end());
      out.insert(out.begin(), numbers.begin(), numbers.end());
    }
    return out;
  }

  /// One epoch in steps of `batch`; the reader is then at the start of the next.
  std::vector<int> epoch(SampleReader& from, std::int64_t batch) {
    std::vector<int> all;
    while (true) {
      const std::vector<int> some = step(from, batch, batch / 2);
      if (some.empty()) return all;
      all.insert(all.end(), some.begin(), some.end());
    }
  }

  static std::vector<int> sorted(std::vector<int> v) {
    std::sort(v.begin(), v.end());
    return v;
  }
  static std::vector<int> iota(int n) {
    std::vector<int> v(static_cast<std::size_t>(n));
    std::iota(v.begin(), v.end(), 0);
    return v;
  }

  TestFolder folder_;
  config::Config config_ = csv_config();
  std::vector<std::string> files_;
};

TEST_F(ReaderTest, SequentialOrderIsFileOrder) {
  write_samples(100);
  auto r = reader(Order::sequential);
  EXPECT_EQ(epoch(r, 7), iota(100));
  EXPECT_EQ(r.position(), (Position{1, 0}));
  EXPECT_EQ(epoch(r, 100), iota(100));
  EXPECT_EQ(epoch(r, 1000), iota(100));
}

TEST_F(ReaderTest, FillsTheBatch) {
  write_samples(10);
  auto r = reader(Order::sequential);
  SampleBatch batch;
  ASSERT_EQ(r.next_step(4), 4);
  r.parse(1, 4, batch);
  EXPECT_EQ(batch.size(), 3);
  EXPECT_THAT(batch.labels, ElementsAre(0.0f, 0.0f, 1.0f));
  EXPECT_THAT(batch.dense, ElementsAre(1.0f, 2.0f, 3.0f));
  ASSERT_THAT(batch.slots, SizeIs(1));
  EXPECT_THAT(batch.slots[0].offsets, ElementsAre(0U, 1U, 2U, 3U));
  EXPECT_THAT(batch.slots[0].ids, SizeIs(3));
  r.parse(2, 2, batch);
  EXPECT_EQ(batch.size(), 0);
  EXPECT_THAT(batch.slots[0].offsets, ElementsAre(0U));
}

TEST_F(ReaderTest, EveryEpochHasEverySampleOnce) {
  for (const int n : {1, 15, 16, 17, 32, 100}) {  // about the window of 16
    write_samples(n);
    auto r = reader(Order::shuffled);
    for (int e = 0; e < 3; ++e) {
      ASSERT_EQ(r.position(), (Position{e, 0}));
      EXPECT_EQ(sorted(epoch(r, 7)), iota(n)) << n;
    }
  }
}

TEST_F(ReaderTest, TheOrderDependsOnSeedAndEpochAlone) {
  write_samples(100);
  auto a = reader(Order::shuffled);
  auto b = reader(Order::shuffled);
  const auto first = epoch(a, 7);
  EXPECT_EQ(first, epoch(b, 33));  // neither batch nor parts matter
  const auto second = epoch(a, 64);
  EXPECT_EQ(second, epoch(b, 1000));
  EXPECT_NE(first, second);
  config_.job.seed = 2;
  auto c = reader(Order::shuffled);
  EXPECT_NE(first, epoch(c, 7));
}

TEST_F(ReaderTest, ShufflesWithinWindows) {
  write_samples(100);
  auto r = reader(Order::shuffled);
  const auto order = epoch(r, 100);
  for (std::size_t w = 0; w < 100; w += 16) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(w);
    const auto end =
        order.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(w + 16, 100));
    EXPECT_EQ(*std::min_element(begin, end), static_cast<int>(w));
    EXPECT_FALSE(std::is_sorted(begin, end)) << w;
  }
}

TEST_F(ReaderTest, TheShuffleIsFixed) {
  // The order is part of the data position that checkpoints hold: it must not change.
  write_samples(8);
  config_.job.seed = 42;
  auto r = reader(Order::shuffled);
  EXPECT_THAT(epoch(r, 8), ElementsAre(4, 7, 0, 1, 5, 6, 2, 3));
}

TEST_F(ReaderTest, AWindowOfOneIsFileOrder) {
  write_samples(40);
  config_.data.shuffle_window = 1;
  auto r = reader(Order::shuffled);
  EXPECT_EQ(epoch(r, 7), iota(40));
}

TEST_F(ReaderTest, SeekContinuesBitForBit) {
  write_samples(100);
  for (const Order order : {Order::sequential, Order::shuffled}) {
    auto all = reader(order);
    std::vector<std::vector<int>> epochs;
    for (int e = 0; e < 4; ++e) epochs.push_back(epoch(all, 10));

    auto used = reader(order);  // sought from wherever it happens to be
    std::mt19937 random(5);
    for (int i = 0; i < 300; ++i) {
      const Position p = {static_cast<std::int64_t>(random() % 4),
                          static_cast<std::int64_t>(random() % 101)};
      const auto batch = static_cast<std::int64_t>(1 + random() % 40);
      auto fresh = reader(order);
      fresh.seek(p);
      used.seek(p);
      ASSERT_EQ(used.position(), p);
      const auto got = step(used, batch);
      EXPECT_EQ(got, step(fresh, batch));
      const auto& expected = epochs[static_cast<std::size_t>(p.epoch)];
      const auto begin = expected.begin() + p.sample;
      EXPECT_EQ(got,
                std::vector<int>(begin, begin + std::min<std::int64_t>(batch, 100 - p.sample)));
      EXPECT_EQ(used.position(),
                got.empty() ? (Position{p.epoch + 1, 0})
                            : (Position{p.epoch, std::min<std::int64_t>(p.sample + batch, 100)}));
    }
  }
}

TEST_F(ReaderTest, SeekBehindTheEndIsTheEnd) {
  write_samples(20);
  auto r = reader(Order::shuffled);
  for (const std::int64_t sample : {20, 21, 32, 1'000'000}) {
    r.seek({2, sample});
    EXPECT_EQ(r.position(), (Position{2, 20}));
    EXPECT_EQ(r.next_step(5), 0);
    EXPECT_EQ(r.position(), (Position{3, 0}));
  }
}

TEST_F(ReaderTest, FractionGrowsToOne) {
  write_samples(100);
  auto r = reader(Order::shuffled);
  EXPECT_EQ(r.fraction(), 0.0);
  double last = 0;
  while (r.next_step(9) > 0 && r.position().sample < 100) {
    EXPECT_GE(r.fraction(), last);
    last = r.fraction();
    EXPECT_LE(last, 1.0);
  }
  EXPECT_DOUBLE_EQ(r.fraction(), 1.0);
  EXPECT_EQ(r.next_step(9), 0);
  EXPECT_EQ(r.fraction(), 0.0);
}

TEST_F(ReaderTest, NoSampleAtAllIsAnError) {
  files_ = {folder_.write("blank.csv", "\n\n")};
  auto r = reader(Order::shuffled);
  EXPECT_THAT(message_of<DataError>([&] { r.next_step(1); }), HasSubstr("no sample"));
}

TEST_F(ReaderTest, BadRowsNameTheirPlace) {
  files_ = {folder_.write("bad.csv", "x,1,a,yes\n\nx,two,a,no\n")};
  auto r = reader(Order::sequential);
  SampleBatch batch;
  ASSERT_EQ(r.next_step(10), 2);
  EXPECT_THAT(message_of<DataError>([&] { r.parse(0, 2, batch); }),
              AllOf(HasSubstr("bad.csv:3: column 2 (age): 'two' is not a finite number"),
                    HasSubstr("data.max_bad_rows is 0")));
  r.parse(0, 1, batch);
  EXPECT_EQ(batch.size(), 1);
}

TEST_F(ReaderTest, BadRowsAreCountedUpToTheLimitOfEachEpoch) {
  files_ = {folder_.write("bad.csv", "x,1,a,yes\nx,two,a,no\nx,3,a,no\nx,4\nx,5,a,no\n")};
  config_.data.max_bad_rows = 2;
  auto r = reader(Order::sequential);
  for (int e = 1; e <= 3; ++e) {
    EXPECT_THAT(epoch(r, 2), ElementsAre(1, 3, 5));
    EXPECT_EQ(r.bad_rows(), 2 * e);
  }
  config_.data.max_bad_rows = 1;
  auto strict = reader(Order::sequential);
  EXPECT_THAT(message_of<DataError>([&] { epoch(strict, 2); }), HasSubstr("bad.csv:4: 2 columns"));
}

TEST_F(ReaderTest, ABadRowLeavesNothingBehind) {
  files_ = {folder_.write("bad.csv", "x,1,a,yes\nx,2,b,\nx,3,c,no\n")};
  config_.data.max_bad_rows = 1;
  auto r = reader(Order::sequential);
  SampleBatch batch;
  r.next_step(3);
  r.parse(0, 3, batch);
  EXPECT_THAT(batch.labels, ElementsAre(1.0f, 0.0f));
  EXPECT_THAT(batch.dense, ElementsAre(1.0f, 3.0f));
  EXPECT_THAT(batch.slots[0].ids, SizeIs(2));
  EXPECT_THAT(batch.slots[0].offsets, ElementsAre(0U, 1U, 2U));
}

TEST_F(ReaderTest, ATruncatedFileStopsTheStep) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += fmt::format("x,{},a,no\n", i * 7919);
  const std::string packed = gzip(text);
  files_ = {folder_.write("cut.csv.gz", packed.substr(0, packed.size() - 100))};
  auto r = reader(Order::shuffled);
  EXPECT_THAT(message_of<DataError>([&] { epoch(r, 10); }), HasSubstr("cut.csv.gz ends in the"));
}

TEST_F(ReaderTest, HeadersAndCommentsAreNoSamples) {
  config_.data.columns = {};
  config_.data.header = true;
  config_.data.comment = "#";
  files_ = {folder_.write("a.csv", "# made by hand\nid,age,job,label\nx,0,a,no\n#x\nx,1,a,no\n"),
            folder_.write("b.csv", "id,age,job,label\nx,2,a,no\n")};
  auto r = reader(Order::sequential);
  EXPECT_EQ(epoch(r, 2), iota(3));
  r.seek({0, 2});
  EXPECT_THAT(step(r, 5), ElementsAre(2));
}

TEST_F(ReaderTest, AHeaderThatDiffersIsAnError) {
  config_.data.columns = {};
  config_.data.header = true;
  files_ = {folder_.write("a.csv", "id,age,job,label\nx,0,a,no\n"),
            folder_.write("b.csv", "id,job,age,label\nx,a,2,no\n")};
  auto r = reader(Order::sequential);
  EXPECT_THAT(message_of<DataError>([&] { epoch(r, 2); }), HasSubstr("b.csv:1"));
}

TEST_F(ReaderTest, MissingNumbersAreZeroAfterTheTransform) {
  files_ = {folder_.write("a.csv", "x,,a,no\nx,-3,a,no\nx,7,a,no\n")};
  SampleBatch batch;
  const auto dense = [&](config::DenseTransform transform) {
    config_.data.dense_transform = transform;
    config_.data.train = files_;
    auto r = reader(Order::sequential);
    r.next_step(3);
    r.parse(0, 3, batch);
    return batch.dense;
  };
  EXPECT_THAT(dense(config::DenseTransform::none), ElementsAre(0.0f, -3.0f, 7.0f));
  EXPECT_THAT(dense(config::DenseTransform::log1p), ElementsAre(0.0f, 0.0f, std::log1p(7.0f)));
  EXPECT_THAT(dense(config::DenseTransform::standardize), ElementsAre(0.0f, -1.0f, 1.0f));
}

TEST_F(ReaderTest, StandardizesWithTheTrainingData) {
  config_.data.dense_transform = config::DenseTransform::standardize;
  config_.data.train = {folder_.write("train.csv", "x,2,a,no\nx,4,a,no\nx,bad,a,no\n")};
  files_ = {folder_.write("valid.csv", "x,3,a,no\nx,5,a,no\n")};
  SampleBatch batch;
  auto fitted = reader(Order::sequential);
  fitted.next_step(2);
  fitted.parse(0, 2, batch);
  EXPECT_THAT(batch.dense, ElementsAre(0.0f, 2.0f));

  SampleReader given(config_, files_, Order::sequential, {.mean = {1.0f}, .inverse_std = {0.5f}});
  given.next_step(2);
  given.parse(0, 2, batch);
  EXPECT_THAT(batch.dense, ElementsAre(1.0f, 2.0f));
}

TEST_F(ReaderTest, AConstantFeatureStandardizesToZero) {
  config_.data.dense_transform = config::DenseTransform::standardize;
  config_.data.train = {folder_.write("train.csv", "x,2,a,no\nx,2,a,no\n")};
  EXPECT_EQ(fit_dense_scaling(config_), (DenseScaling{.mean = {2.0f}, .inverse_std = {1.0f}}));
  config_.data.train = {folder_.write("none.csv", "x,bad,a,no\n")};
  EXPECT_THROW(fit_dense_scaling(config_), DataError);
}

class ExpandFiles : public testing::Test {
 protected:
  TestFolder folder_;
};

TEST_F(ExpandFiles, GlobsAreSortedWithinAnEntry) {
  for (const char* name : {"b.tsv", "a.tsv", "c.csv"}) folder_.write(name, "");
  const std::string first = folder_.path("b.tsv");
  EXPECT_THAT(expand_files({first, folder_.path("*.tsv"), folder_.path("c.csv")}),
              ElementsAre(first, folder_.path("a.tsv"), first, folder_.path("c.csv")));
  EXPECT_THAT(expand_files({}), SizeIs(0));
}

TEST_F(ExpandFiles, ANameIsMeantBeforeAPattern) {
  const std::string odd = folder_.write("day[1].tsv", "");
  folder_.write("day1.tsv", "");
  EXPECT_THAT(expand_files({odd}), ElementsAre(odd));
}

TEST_F(ExpandFiles, WhatIsNotThereIsNamed) {
  const auto error = [&](const std::string& entry) {
    return message_of<DataError>([&] { expand_files({entry}); });
  };
  EXPECT_THAT(error(folder_.path("gone.tsv")), HasSubstr("gone.tsv"));
  EXPECT_THAT(error(folder_.path("*.gone")),
              AllOf(HasSubstr("no data file matches"), HasSubstr("*.gone")));
  EXPECT_THAT(error(folder_.path("")), HasSubstr("not a regular file"));
  EXPECT_THAT(error("/dev/null"), HasSubstr("not a regular file"));
}

TEST_F(ReaderTest, IsStoppedOnItsWayToAPosition) {
  // Gigabytes of text behind each other.
  write_samples(100'000);
  const std::vector<std::string> once = files_;
  for (int i = 0; i < 20'000; ++i) files_.insert(files_.end(), once.begin(), once.end());
  std::stop_source source;
  std::jthread seeking([&] {
    SampleReader reader(config_, files_, Order::sequential, {}, source.get_token());
    reader.seek({0, std::int64_t{1} << 40});
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  source.request_stop();
  const auto start = std::chrono::steady_clock::now();
  seeking.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace satrap::data
