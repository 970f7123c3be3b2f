// Command lines, configs, roles, memory and run directories that cannot be: each ends the job as
// docs/errors.md says.

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "bad_input.hpp"

namespace satrap::test {
namespace {

namespace fs = std::filesystem;

using Prepare = std::function<void(const Scratch&)>;

Prepare append_to_config(const std::string& lines) {
  return
      [=](const Scratch& scratch) { std::ofstream(scratch / "small.ini", std::ios::app) << lines; };
}

/// A directory where the run wants a file.
Prepare directory(const std::string& path) {
  return [=](const Scratch& scratch) { fs::create_directories(scratch / path); };
}

Prepare file(const std::string& path) {
  return [=](const Scratch& scratch) {
    fs::create_directories((scratch / path).parent_path());
    write_text(scratch / path, "taken");
  };
}

std::vector<BadInput> command_lines() {
  return {
      {"NotACommand", 2, {"trian is not something"}, {}, {}, 2, "trian"},
      {"TwoConfigs", 2, {"2 config files given", "use satrap train CONFIG"}, {"@/other.ini"}},
      {"UnknownOption", 2, {"command line", "--frobnicate"}, {"--frobnicate"}},
      {"UnknownKey", 2, {"train.bach"}, {"--train.bach=5"}, {}, 5},
      {"MissingValue", 2, {"--train.steps"}, {"--train.steps"}},
      {"NotARole", 2, {"--role boss", "server, worker, trainer"}, {"--role", "boss"}},
      {"RoleOfSomeRanks",
       2,
       {"1 of 3 ranks have no --role"},
       {"--role", "server", ":", "-n", "1", "!", "train", "@/small.ini", "--role", "trainer", ":",
        "-n", "1", "!", "train", "@/small.ini"},
       {},
       1},
      {"OptionOfSomeRanks",
       2,
       {"rank 1 is to train", "--train.steps=3", "the same options"},
       {"--role", "server", ":", "-n", "1", "!", "train", "@/small.ini", "--role", "trainer",
        "--train.steps=3"},
       {},
       1},
      {"OtherOneSidedComponent",
       2,
       {"OMPI_MCA_osc: 'sm' on rank 1", "the same value"},
       {"--role", "server", ":", "-n", "1", "env", "OMPI_MCA_osc=sm", "!", "train", "@/small.ini",
        "--role", "trainer"},
       {},
       1},
  };
}

std::vector<BadInput> configs() {
  return {
      {"NoConfigFile",
       2,
       {"small.ini cannot be read"},
       {},
       [](const Scratch& s) {
         fs::remove(s / "small.ini");
         fs::create_symlink(s / "nowhere.ini", s / "small.ini");
       }},
      {"ConfigIsADirectory",
       2,
       {"small.ini"},
       {},
       [](const Scratch& s) {
         fs::remove(s / "small.ini");
         fs::create_directory(s / "small.ini");
       }},
      {"ConfigIsBinary",
       2,
       {"small.ini:", "not understood"},
       {},
       [](const Scratch& s) {
         compress(s / "train.tsv");
         fs::rename(s / "train.tsv.gz", s / "small.ini");
       }},
      {"UnknownKeyInFile",
       2,
       {"small.ini:21", "train.global_bach", "global_batch"},
       {},
       append_to_config("[train]\nglobal_bach = 5\n")},
      {"KeyTwice",
       2,
       {"small.ini:21", "train.global_batch"},
       {},
       append_to_config("[train]\nglobal_batch = 5\n")},
      {"NotANumber",
       2,
       {"command line", "train.global_batch", "many"},
       {"--train.global_batch=many"}},
      {"OutOfRange", 2, {"train.global_batch", "1 to"}, {"--train.global_batch=0"}},
      {"Overflow", 2, {"train.epochs"}, {"--train.epochs=99999999999999999999"}},
      {"NoEffect", 2, {"schedule.decay_power", "no effect"}, {"--schedule.decay_power=1"}},
      {"SyncWithStaleness",
       2,
       {"train.staleness", "sync"},
       {"--train.mode=sync", "--train.staleness=3"}},
      {"DifferentDims", 2, {"table.C3.dim", "one dim"}, {"--table.C3.dim=4"}},
      {"NoSuchTable", 2, {"table.X*.dim", "matches no table"}, {"--table.X*.dim=4"}},
      {"CapacityBelowABatch", 2, {"capacity", "at least 256"}, {"--table.*.capacity=255"}, {}, 5},
      {"CapacityOfAServerBelowItsPartOfABatch",
       2,
       {"table.C1.capacity = 300 is too small for 2 servers", "at least 389, or 0"},
       {"--table.C1.capacity=300", "--roles.servers=2"},
       {},
       3},
      {"CapacityBytesBelowABlock",
       2,
       {"table.C1.capacity_bytes = 8000000 is too small for 2 servers", "at least 16777215"},
       {"--table.C1.capacity_bytes=8000000", "--roles.servers=2"},
       {},
       3},
      {"CsvWithoutLabel",
       2,
       {"data.label", "must be set"},
       {"--data.format=csv", "--data.categorical=a", "--data.columns=a,b"}},
      {"NothingToTrainOn",
       2,
       {"train.drop_last", "train.global_batch"},
       {"--train.drop_last=true", "--train.global_batch=5000"},
       {},
       4},
  };
}

std::vector<BadInput> roles() {
  return {
      {"TooFewRanks",
       2,
       {"2 ranks", "roles.servers = 2", "mpirun -n 3"},
       {"--roles.servers=2"},
       {},
       2},
      {"OneRank", 2, {"1 rank", "mpirun -n 2"}, {}, {}, 1},
      {"TooManyRanks", 2, {"4 ranks", "roles.trainers = 1"}, {"--roles.trainers=1"}, {}, 4},
      {"WorkersWithoutTrainer",
       2,
       {"roles.workers = 2", "1 trainers"},
       {"--roles.workers=2"},
       {},
       4},
      {"NoTrainer", 2, {"roles.trainers"}, {"--role", "server"}},
      {"NoServer", 2, {"no embedding server"}, {"--role", "trainer"}},
      {"BatchBelowTrainers",
       2,
       {"train.global_batch = 2", "3 trainers"},
       {"--train.global_batch=2"},
       {},
       4},
      {"ServersWithoutRows",
       2,
       {"roles.servers = 3", "virtual_shards = 2"},
       {"--roles.servers=3", "--checkpoint.virtual_shards=2"},
       {},
       4},
  };
}

std::vector<BadInput> sizes() {
  return {
      {"RingBelowARow",
       2,
       {"transport.ring_bytes = 4096", "at least 8320"},
       {"--transport.ring_bytes=4096", "--table.*.dim=500"}},
      {"RingNotAligned",
       2,
       {"transport.ring_bytes", "multiple of 64"},
       {"--transport.ring_bytes=5000"}},
      {"ReplyBytesTooSmall",
       2,
       {"transport.reply_bytes", "at least"},
       {"--transport.reply_bytes=4096"},
       {},
       5},
      {"ReplyBytesTooSmallForAWorker",
       2,
       {"worker 0", "transport.reply_bytes", "at least"},
       {"--transport.reply_bytes=4096", "--roles.workers=1"},
       {},
       4},
      {"RingsBeyondMemory",
       1,
       {"shared memory", "transport.ring_bytes"},
       {"--transport.ring_bytes=1000000000000"}},
      {"BatchesBeyondAnyMemory",
       2,
       {"in-flight batches", "train.staleness"},
       {"--train.global_batch=1000000000", "--train.staleness=1024", "--table.*.dim=4096"}},
      {"ModelBeyondMemory",
       1,
       {"cannot allocate", "smaller"},
       {"--model.top=1000000,1000000"},
       {},
       4},
  };
}

std::vector<BadInput> run_directories() {
  return {
      {"RunDirIsAFile", 2, {"job.run_dir", "run cannot be made"}, {}, file("run")},
      {"RunDirCannotBe", 2, {"job.run_dir", "/proc/satrap"}, {"--job.run_dir=/proc/satrap"}},
      {"CheckpointsIsAFile", 2, {"job.run_dir"}, {}, file("run/checkpoints")},
      {"ConfigIniIsADirectory", 2, {"job.run_dir", "config.ini"}, {}, directory("run/config.ini")},
      {"LogIsADirectory", 2, {"run/log.txt", "job.run_dir"}, {}, directory("run/log.txt"), 4},
      {"MetricsIsADirectory",
       2,
       {"trainer 0", "run/metrics.jsonl", "job.run_dir"},
       {},
       directory("run/metrics.jsonl")},
      {"SummaryIsADirectory",
       4,
       {"trainer 0", "run/summary.json"},
       {},
       directory("run/summary.json")},
  };
}

class BadConfig : public testing::TestWithParam<BadInput> {};

TEST_P(BadConfig, IsRefused) {
  const Scratch scratch;
  expect_refusal(GetParam(), scratch);
}

const auto kName = [](const auto& info) { return name_of(info.param); };

INSTANTIATE_TEST_SUITE_P(CommandLine, BadConfig, testing::ValuesIn(command_lines()), kName);
INSTANTIATE_TEST_SUITE_P(Config, BadConfig, testing::ValuesIn(configs()), kName);
INSTANTIATE_TEST_SUITE_P(Roles, BadConfig, testing::ValuesIn(roles()), kName);
INSTANTIATE_TEST_SUITE_P(Sizes, BadConfig, testing::ValuesIn(sizes()), kName);
INSTANTIATE_TEST_SUITE_P(RunDirectory, BadConfig, testing::ValuesIn(run_directories()), kName);

TEST(RunDirectory, BelongsToOneJobAtATime) {
  const Scratch scratch;
  make_data(scratch, 1'500, 300);
  const auto config = small_config(scratch);
  Process first(mpirun(2, {"train", config, "--train.epochs=100000"}));
  while (!fs::exists(scratch / "run/metrics.jsonl")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  expect_one_message(run(mpirun(2, {"train", config})), 2,
                     {"another job writes to job.run_dir", "wait for its end"});
}

/// Copies of the data on two hosts, of which one is older.
TEST(Data, IsTheSameForAllRanks) {
  const Scratch scratch;
  make_data(scratch, 1'500, 300);
  const std::vector<std::string> satrap = {mpirun(1, {}).back(), "train", small_config(scratch),
                                           "--data.train=train.tsv", "--role"};
  fs::create_directory(scratch / "host");
  write_text(scratch / "host/train.tsv", read_text(scratch / "valid.tsv"));
  std::vector<std::string> command = {"mpirun", "--oversubscribe", "--bind-to", "none"};
  const auto add = [&](const char* ranks, const fs::path& directory, const char* role) {
    if (command.back() != "none") command.push_back(":");
    command.insert(command.end(), {"-n", ranks, "-wdir", directory.string()});
    command.insert(command.end(), satrap.begin(), satrap.end());
    command.push_back(role);
  };
  add("1", scratch.path(), "server");
  add("1", scratch.path(), "trainer");
  add("1", scratch / "host", "trainer");
  expect_one_message(run(command), 3, {"rank 1 and rank 2 see different data files", "data.train"});
}

}  // namespace
}  // namespace satrap::test
