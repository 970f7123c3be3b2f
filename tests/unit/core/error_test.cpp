#include "core/error.hpp"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace satrap {
namespace {

TEST(Error, SaysProblemWhyAndRemedy) {
  const DataError full("cannot read a.tsv", "line 3 has 2 columns", "fix the line");
  EXPECT_STREQ(full.what(), "cannot read a.tsv (line 3 has 2 columns); fix the line");
  EXPECT_EQ(full.code(), ExitCode::data);
  EXPECT_STREQ(ConfigError("bad").what(), "bad");
}

TEST(Fault, HasTheCodeAndTheWordsOfAnError) {
  const Fault data = to_fault(DataError("cannot read a.tsv"));
  EXPECT_EQ(data.code, ExitCode::data);
  EXPECT_EQ(data.message, "cannot read a.tsv");
  EXPECT_EQ(to_fault(std::out_of_range("at")).code, ExitCode::internal);
  EXPECT_NE(to_fault(std::bad_alloc()).message.find("memory has run out"), std::string::npos);
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
