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

TEST(FileLock, IsHeldByOneUntilItIsDestroyed) {
  const auto path = std::filesystem::path(testing::TempDir()) / "satrap_lock_test";
  {
    FileLock first(path);
    EXPECT_FALSE(first.taken());
    EXPECT_TRUE(FileLock(path).taken());
    const FileLock moved = std::move(first);
    EXPECT_TRUE(FileLock(path).taken());
  }
  EXPECT_FALSE(FileLock(path).taken());
  EXPECT_THROW(FileLock("/nowhere/at/all"), CheckpointError);
}

}  // namespace
}  // namespace satrap
