#include "data/synthetic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>

#include "core/error.hpp"
#include "data/reader.hpp"
#include "data/row.hpp"
#include "unit/data/support.hpp"

namespace satrap::data {
namespace {

using testing::HasSubstr;

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

class SyntheticTest : public testing::Test {
 protected:
  SyntheticOptions options(const std::string& suffix, std::int64_t samples) {
    SyntheticOptions o;
    o.train_path = folder_.path("train" + suffix);
    o.valid_path = folder_.path("valid" + suffix);
    o.train_samples = samples;
    o.valid_samples = samples;
    o.teacher.vocabulary = 1000;
    return o;
  }

  TestFolder folder_;
};

TEST_F(SyntheticTest, WritesCompleteCriteoRows) {
  const auto o = options(".tsv.gz", 3000);
  const metrics::Evaluation best = make_synthetic_data(o);
  EXPECT_EQ(best.samples, 3000);

  SampleReader reader(criteo_config(), {o.valid_path}, SampleReader::Order::sequential);
  SampleBatch batch;
  ASSERT_EQ(reader.next_step(10'000), 3000);
  reader.parse(0, 3000, batch);
  double positives = 0;
  for (const float y : batch.labels) positives += y;
  EXPECT_DOUBLE_EQ(positives / 3000, best.base_rate);
  for (const SlotIds& slot : batch.slots) {
    for (const FeatureId id : slot.ids) EXPECT_NE(id, kMissingCategory);
  }
}

TEST_F(SyntheticTest, IsAFunctionOfTheSeed) {
  const auto a = options("a", 500);
  const auto b = options("b", 500);
  const auto a_best = make_synthetic_data(a);
  const auto b_best = make_synthetic_data(b);
  EXPECT_EQ(content(a.train_path), content(b.train_path));
  EXPECT_EQ(content(a.valid_path), content(b.valid_path));
  EXPECT_EQ(a_best.auc, b_best.auc);
  EXPECT_NE(content(a.train_path), content(a.valid_path));

  auto c = options("c", 500);
  c.teacher.seed = 2;
  make_synthetic_data(c);
  EXPECT_NE(content(a.train_path), content(c.train_path));
}

TEST_F(SyntheticTest, ALongerFileBeginsWithTheShorter) {
  const auto a = options("a", 200);
  auto b = options("b", 300);
  b.valid_samples = 10;
  make_synthetic_data(a);
  make_synthetic_data(b);
  EXPECT_TRUE(content(b.train_path).starts_with(content(a.train_path)));
  EXPECT_TRUE(content(a.valid_path).starts_with(content(b.valid_path)));
}

TEST_F(SyntheticTest, AFileThatCannotBeWrittenIsAnError) {
  auto o = options(".tsv", 1);
  o.train_path = folder_.path("no/such/folder/train.tsv");
  EXPECT_THAT(message_of<DataError>([&] { make_synthetic_data(o); }),
              HasSubstr("cannot write " + o.train_path));
}

TEST_F(SyntheticTest, AFullDiskLeavesNoFile) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  auto o = options(".tsv", 2000);
  std::filesystem::create_symlink("/dev/full", o.train_path + ".part");
  EXPECT_THROW(make_synthetic_data(o), DataError);
  EXPECT_FALSE(std::filesystem::exists(o.train_path));
  EXPECT_FALSE(std::filesystem::is_symlink(o.train_path + ".part"));
}

TEST(Teacher, LabelsFollowTheLogits) {
  const Teacher teacher({.vocabulary = 1000});
  std::vector<metrics::Scored> scored;
  for (int i = 0; i < 20'000; ++i) {
    const TeacherSample s = teacher.draw(Teacher::Split::valid, i);
    scored.push_back({static_cast<float>(s.logit), s.label ? 1.0f : 0.0f});
  }
  const metrics::Evaluation e = metrics::evaluate(scored);
  EXPECT_NEAR(e.base_rate, 0.25, 0.02);
  EXPECT_NEAR(*e.calibration, 1.0, 0.04);
  EXPECT_GT(*e.auc, 0.75);
  EXPECT_LT(*e.auc, 0.90);
}

TEST(Teacher, IdsFollowTheZipfLaw) {
  constexpr int kSamples = 50'000;
  const Teacher teacher({.vocabulary = 100, .zipf_exponent = 1.0});
  std::map<std::uint32_t, int> count;
  for (int i = 0; i < kSamples; ++i) ++count[teacher.draw(Teacher::Split::train, i).categories[25]];
  std::vector<int> by_rank;
  for (const auto& [id, n] : count) by_rank.push_back(n);
  std::sort(by_rank.rbegin(), by_rank.rend());
  ASSERT_EQ(by_rank.size(), 100U);
  double harmonic = 0;
  for (int r = 1; r <= 100; ++r) harmonic += 1.0 / r;
  for (const int r : {1, 2, 3, 5}) {
    const double expected = kSamples / harmonic / r;
    EXPECT_NEAR(by_rank[static_cast<std::size_t>(r - 1)], expected, 5 * std::sqrt(expected)) << r;
  }
}

TEST(Teacher, RefusesSenselessOptions) {
  EXPECT_THROW(Teacher({.vocabulary = 0}), ConfigError);
  EXPECT_THROW(Teacher({.zipf_exponent = -1}), ConfigError);
  EXPECT_THROW(Teacher({.zipf_exponent = std::nan("")}), ConfigError);
  EXPECT_THROW(Teacher({.informative_slots = 27}), ConfigError);
  EXPECT_THROW(Teacher({.rank = -1}), ConfigError);
  EXPECT_THROW(Teacher({.base_rate = 1.0}), ConfigError);
  EXPECT_THROW(Teacher({.bias_scale = INFINITY}), ConfigError);
}

}  // namespace
}  // namespace satrap::data
