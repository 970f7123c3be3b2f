#include <gtest/gtest.h>

#include "h5/file.hpp"
#include "metrics/evaluation.hpp"
#include "support/golden.hpp"

namespace satrap::metrics {
namespace {

constexpr double kTolerance = 1e-9;  // both in double, from the same float predictions

void check_group(const h5::Group& group) {
  const auto probabilities = group.dataset("predictions").read<float>();
  const auto labels = group.dataset("labels").read<float>();
  const Evaluation e = evaluate_probabilities(probabilities, labels);
  EXPECT_EQ(e.samples, static_cast<std::int64_t>(labels.size()));
  ASSERT_TRUE(e.auc && e.normalized_entropy && e.calibration);
  EXPECT_NEAR(*e.auc, group.attribute<double>("auc"), kTolerance);
  EXPECT_NEAR(e.log_loss, group.attribute<double>("logloss"), kTolerance);
  EXPECT_NEAR(*e.normalized_entropy, group.attribute<double>("normalized_entropy"),
              kTolerance * *e.normalized_entropy);
  EXPECT_NEAR(*e.calibration, group.attribute<double>("calibration"), kTolerance * *e.calibration);
}

/// Every group of every golden file that holds predictions.
TEST(GoldenMetrics, Agree) {
  if (!support::golden_folder()) GTEST_SKIP() << "no folder of golden values";
  int groups = 0;
  for (const auto& path : support::golden_files()) {
    const h5::File file = h5::File::open(path);
    for (const std::string& name : file.children()) {
      if (!file.is_group(name)) continue;
      const h5::Group group = file.group(name);
      if (!group.has("predictions")) continue;
      SCOPED_TRACE(path.filename().string() + ":" + name);
      check_group(group);
      ++groups;
    }
  }
  EXPECT_GT(groups, 0) << "the folder of golden values has none of metrics";
}

}  // namespace
}  // namespace satrap::metrics
