#include "core/error.hpp"

#include <gtest/gtest.h>

namespace satrap {
namespace {

TEST(Error, SaysProblemWhyAndRemedy) {
  const DataError full("cannot read a.tsv", "line 3 has 2 columns", "fix the line");
  EXPECT_STREQ(full.what(), "cannot read a.tsv (line 3 has 2 columns); fix the line");
  EXPECT_EQ(full.code(), ExitCode::data);
  EXPECT_STREQ(ConfigError("bad").what(), "bad");
}

TEST(Check, ThrowsInDebugBuildsOnly) {
#ifdef NDEBUG
  EXPECT_NO_THROW(SATRAP_EXPECT(false));
#else
  EXPECT_THROW(SATRAP_EXPECT(false), InternalError);
  EXPECT_THROW(SATRAP_ASSERT(1 > 2), InternalError);
#endif
}

}  // namespace
}  // namespace satrap
