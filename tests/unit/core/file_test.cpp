#include "core/file.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"

namespace satrap {
namespace {

TEST(WriteFileAtomically, ReplacesAndLeavesNothingBehind) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "satrap_file_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  write_file_atomically(folder / "a", "one");
  write_file_atomically(folder / "a", "two");
  EXPECT_EQ(read_file(folder / "a"), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(WriteFileAtomically, NamesTheProblem) {
  EXPECT_THROW(write_file_atomically("/nowhere/at/all", "x"), CheckpointError);
  EXPECT_THROW(read_file("/nowhere/at/all"), CheckpointError);
}

}  // namespace
}  // namespace satrap
