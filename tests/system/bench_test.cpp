#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace satrap::test {
namespace {

Ended bench(std::vector<std::string> arguments) {
  // Nothing can be installed there: peers that have to be are skipped.
  const std::string cache = "XDG_CACHE_HOME=/dev/null";
  const std::string script = std::string(std::getenv("SATRAP_SOURCE")) + "/scripts/bench.sh";
  arguments.insert(arguments.begin(), {"env", cache, script});
  return run(arguments);
}

std::vector<std::string> split(const std::string& text, char delimiter) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, delimiter);) parts.push_back(part);
  return parts;
}

TEST(Bench, EndToEndPrintsItsFiguresBesideTheirLimits) {
  const Ended ended = bench({"--quick", "--bin", std::getenv("SATRAP_BIN"), "end-to-end"});
  ASSERT_EQ(ended.code, 0) << ended.output;
  std::map<std::string, std::string> peers;
  for (const std::string& line : split(ended.output, '\n')) {
    const auto fields = split(line, ',');
    ASSERT_EQ(fields.size(), 8U) << line;
    EXPECT_EQ(fields[0], "bench") << line;
    EXPECT_EQ(fields[3], "samples/s") << line;
    peers[fields[1]] = fields[4];
    const double value = std::stod(fields[2]);
    const double peer = std::stod(fields[5]);
    EXPECT_GT(value, 0) << line;
    ASSERT_GT(peer, 0) << line;
    EXPECT_NEAR(std::stod(fields[6]), value / peer, 0.001) << line;
  }
  const std::map<std::string, std::string> expected = {{"end-to-end", "matrix-products"},
                                                       {"end-to-end-worker", "end-to-end"},
                                                       {"end-to-end-sync", "end-to-end"}};
  EXPECT_EQ(peers, expected);
}

TEST(Bench, StorePrintsItsFiguresAndSaysWhatItSkips) {
  const Ended ended = bench({"--quick", "--peers", "--bin", std::getenv("SATRAP_BIN"), "store"});
  ASSERT_EQ(ended.code, 0) << ended.output;
  EXPECT_NE(ended.output.find("# skipped: FBGEMM"), std::string::npos) << ended.output;
  std::set<std::string> figures;
  for (const std::string& line : split(ended.output, '\n')) {
    if (!line.starts_with("bench,")) continue;
    const auto fields = split(line, ',');
    ASSERT_EQ(fields.size(), 8U) << line;
    EXPECT_TRUE(figures.insert(fields[1] + " " + fields[4]).second) << line;
    EXPECT_GT(std::stod(fields[2]), 0) << line;
    EXPECT_GT(std::stod(fields[5]), 0) << line;
  }
  for (const char* figure :
       {"store-lookup plain-gather", "store-evaluation-lookup plain-gather",
        "store-update plain-read-write", "store-lookup-int8 plain-gather",
        "store-insert plain-write-new-memory", "store-insert plain-write",
        "store-insert-and-evict plain-write", "store-bytes-per-row weights-and-state",
        "store-bytes-per-parameter-fp16-dim-128 allowed", "store-lookup persia-map-lookup",
        "store-update persia-map-update", "store-100T-parameters store-6.25T-parameters"}) {
    EXPECT_TRUE(figures.contains(figure)) << figure << "\n" << ended.output;
  }
}

TEST(Bench, UnknownNamesAreRefused) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"end-to-and"}, {"--bin"}, {}}) {
    const Ended ended = bench(arguments);
    EXPECT_EQ(ended.code, 2) << ended.output;
    EXPECT_NE(ended.output.find("--help"), std::string::npos) << ended.output;
  }
}

}  // namespace
}  // namespace satrap::test
