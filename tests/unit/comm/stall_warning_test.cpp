#include "comm/mpi/stall_warning.hpp"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>
#include <string>

namespace satrap::comm {
namespace {

using std::chrono::milliseconds;

/// What is logged while a warning of `patience` lives for `life`.
std::string logged(milliseconds patience, milliseconds life) {
  std::ostringstream text;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text)));
  {
    const StallWarning warning("nobody answers", patience);
    std::this_thread::sleep_for(life);
  }
  spdlog::set_default_logger(before);
  return text.str();
}

TEST(StallWarning, SpeaksAfterItsPatience) {
  EXPECT_NE(logged(milliseconds(10), milliseconds(300)).find("nobody answers"), std::string::npos);
}

TEST(StallWarning, IsSilentAndQuickWhereNothingStalls) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(logged(std::chrono::minutes(1), milliseconds(0)), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace satrap::comm
