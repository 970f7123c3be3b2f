#include "job/table_report.hpp"

#include <gtest/gtest.h>

namespace satrap::job {
namespace {

TEST(EvictedShare, IsThatOfTheTimeBetween) {
  store::TableStatistics before;
  before.evicted = 1000;
  before.gradients_dropped = 500;
  before.gradients_applied = 500;
  store::TableStatistics now = before;
  now.gradients_dropped += 20;
  now.gradients_applied += 80;
  EXPECT_EQ(evicted_share(before, now), 0);  // No row was evicted since.
  now.evicted += 100;
  EXPECT_DOUBLE_EQ(evicted_share(before, now), 0.2);
}

TEST(EvictedShare, LeavesOutIdsThatWereNotAdmitted) {
  store::TableStatistics now;
  now.evicted = 10;
  now.not_admitted = 60;
  now.gradients_dropped = 70;
  now.gradients_applied = 30;
  EXPECT_DOUBLE_EQ(evicted_share({}, now), 0.1);
  now.not_admitted = 90;  // The gradients of the last ones are yet to come.
  EXPECT_EQ(evicted_share({}, now), 0);
}

TEST(EvictedShare, IsNothingWithoutGradients) {
  store::TableStatistics now;
  now.evicted = 10;
  EXPECT_EQ(evicted_share({}, now), 0);
}

}  // namespace
}  // namespace satrap::job
