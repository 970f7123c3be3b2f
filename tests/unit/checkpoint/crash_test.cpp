#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "core/file.hpp"
#include "model.hpp"

namespace satrap::checkpoint {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

class Crash : public testing::Test {
 protected:
  const fs::path& root() const { return folder_.path(); }
  fs::path directory(const std::string& name) const { return root() / name; }

  /// That `path` is what newest finds, and holds `job`.
  void expect_newest(const fs::path& path, const std::vector<Tables>& job) const {
    ASSERT_EQ(newest(root()), path);
    verify(path);
    EXPECT_TRUE(same_rows(job, load_job(path, configs_, 1)));
  }

  const Folder folder_;
  const std::vector<config::TableConfig> configs_ = all_tables();
  const std::vector<Tables> old_ = make_job(configs_, 2, 20, 1);
  const std::vector<Tables> new_ = make_job(configs_, 2, 20, 2);
};

TEST_F(Crash, NothingIsFoundBeforeTheFirstIsComplete) {
  EXPECT_EQ(newest(root()), std::nullopt);
  save_tables(begin_save(root(), 1), old_);
  EXPECT_EQ(newest(root()), std::nullopt);
}

TEST_F(Crash, BetweenThePhasesOfASave) {
  const auto path = save(root(), 1, old_);
  const auto rest = begin_save(root(), 2);
  expect_newest(path, old_);
  save_tables(rest, new_);
  expect_newest(path, old_);
  Dense dense;
  dense.state.step = 2;
  save_dense(rest, dense.state);
  expect_newest(path, old_);
  fs::rename(rest, directory("step-2"));  // dies before the manifest
  expect_newest(path, old_);
  expect_newest(save(root(), 2, new_), new_);
  EXPECT_THAT(names_in(root()), testing::ElementsAre("manifest.json", "step-1", "step-2"));
}

TEST_F(Crash, TheRestOfAnEarlierTryIsRemoved) {
  const auto rest = begin_save(root(), 3);
  write_file_atomically(rest / "server-7.h5", "rest");
  EXPECT_FALSE(fs::exists(begin_save(root(), 3) / "server-7.h5"));
  begin_save(root(), 4);
  EXPECT_THAT(names_in(root()), testing::ElementsAre("step-4.tmp"));
}

TEST_F(Crash, RemovingUnfinishedSavesLeavesEveryCheckpoint) {
  fs::rename(save(root(), 1, old_), directory("step-1.old"));
  fs::create_directory(directory("step-2.tmp"));
  write_file_atomically(directory("step-2.tmp") / "server-0.h5", "rest");
  remove_unfinished(root());
  EXPECT_THAT(names_in(root()), testing::ElementsAre("manifest.json", "step-1.old"));
  expect_newest(directory("step-1.old"), old_);
}

/// Saving a step again, as a job does that starts anew in the same run directory: where it may die
/// while the directories change names.
TEST_F(Crash, WhileAStepIsReplaced) {
  const auto path = save(root(), 1, old_);
  const auto replaced = directory("step-1.old");
  fs::rename(path, replaced);
  expect_newest(replaced, old_);
  begin_save(root(), 2);
  expect_newest(path, old_);

  save(directory("other"), 1, new_);
  fs::rename(path, replaced);
  fs::rename(directory("other/step-1"), path);
  expect_newest(path, new_);
  begin_save(root(), 2);
  expect_newest(path, new_);
  EXPECT_FALSE(fs::exists(replaced));

  fs::rename(path, replaced);
  expect_newest(save(root(), 1, old_), old_);
  EXPECT_FALSE(fs::exists(replaced));
}

TEST_F(Crash, OldCheckpointsGo) {
  for (Step step = 1; step <= 4; ++step) save(root(), step, old_, 2);
  EXPECT_THAT(names_in(root()), testing::ElementsAre("manifest.json", "step-3", "step-4"));
  save(root(), 3, new_, 2);  // the newest by time, not by number
  EXPECT_EQ(newest(root()), directory("step-3"));
  save(root(), 5, new_, 0);
  EXPECT_THAT(names_in(root()), testing::ElementsAre("manifest.json", "step-5"));
}

TEST_F(Crash, AnIncompleteSetOfFilesIsNotFinished) {
  const auto path = begin_save(root(), 1);
  EXPECT_THAT(message_of([&] { finish_save(root(), 1, 2); }), HasSubstr("server-0.h5"));
  save_tables(path, old_);
  EXPECT_THAT(message_of([&] { finish_save(root(), 1, 2); }), HasSubstr("dense.h5"));
  Dense dense;
  dense.state.step = 2;
  save_dense(path, dense.state);
  EXPECT_THAT(message_of([&] { finish_save(root(), 1, 2); }), HasSubstr("another step"));
  dense.state.step = 1;
  save_dense(path, dense.state);
  fs::copy_file(path / "server-0.h5", path / "server-1.h5", fs::copy_options::overwrite_existing);
  EXPECT_THAT(message_of([&] { finish_save(root(), 1, 2); }), HasSubstr("server-1.h5"));
  fs::remove(path / "server-1.h5");
  EXPECT_THAT(message_of([&] { finish_save(root(), 1, 2); }), HasSubstr("server-1.h5"));
  EXPECT_EQ(newest(root()), std::nullopt);
}

/// Saves step after step until it is killed; step s holds a dense model of values s.
[[noreturn]] void save_for_ever(const fs::path& root, const std::vector<Tables>& job) {
  for (Step step = 1;; step = step % 5 + 1) save(root, step, job, 2);
}

TEST_F(Crash, AtAnyMoment) {
  save(root(), 1, old_);
  for (int round = 0; round < 25; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_for_ever(root(), old_);
    std::this_thread::sleep_for(std::chrono::microseconds(10'000 + 3'700 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);

    const auto found = newest(root());
    ASSERT_TRUE(found);
    expect_newest(*found, old_);
    Dense dense;
    load_dense(*found, dense.state);
    EXPECT_EQ(dense.bias[0], static_cast<float>(dense.state.step));
    EXPECT_EQ(describe(*found).step, dense.state.step);
  }
}

TEST_F(Crash, AFolderThatCannotBeWritten) {
  fs::create_directories(root());
  write_file_atomically(directory("file"), "x");
  EXPECT_THAT(message_of([&] { begin_save(directory("file"), 1); }),
              AllOf(HasSubstr("file"), AnyOf(HasSubstr("Not a directory"), HasSubstr("exists"))));
  EXPECT_THAT(message_of([&] { save_tables(directory("missing/step-1.tmp"), old_); }),
              AllOf(HasSubstr("server-0.h5"), HasSubstr("No such file")));
  EXPECT_THAT(message_of([&] { save_dense(directory("missing"), Dense().state); }),
              HasSubstr("No such file"));
}

/// Saves where the disk is full, then where it is not, in the same process; 0 if both ended as they
/// should. A limit on the size of files stands for the full disk.
[[noreturn]] void save_on_full_disk(const fs::path& root) {
  const auto job = make_job({table_config("t", config::Optimizer::adam, 64)}, 1, 20'000);
  save(root, 1, job);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit full{1 << 20, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &full);
  const std::string message = message_of([&] { save(root, 2, job); });
  setrlimit(RLIMIT_FSIZE, &limit);
  const bool found_old = newest(root) == root / "step-1";
  const auto path = save(root, 3, job);
  verify(path);
  std::fprintf(stderr, "%s\n", message.c_str());
  std::exit(found_old && newest(root) == path ? 0 : 1);
}

TEST_F(Crash, AFullDisk) {
  EXPECT_EXIT(save_on_full_disk(root()), testing::ExitedWithCode(0),
              "^cannot write .*server-0.h5 .*File too large.*\n$");
}

}  // namespace
}  // namespace satrap::checkpoint
