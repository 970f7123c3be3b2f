// Data files and values that cannot be trained on: each ends the job as docs/errors.md says.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "bad_input.hpp"

namespace satrap::test {
namespace {

namespace fs = std::filesystem;

constexpr int kTrainSamples = 1'500;

/// A row of Criteo's format with these three fields; the others are missing.
std::string row(const std::string& label, const std::string& integer, const std::string& id) {
  std::string line = label + "\t" + integer + std::string(13, '\t') + id;
  return line + std::string(25, '\t');
}

std::function<void(const Scratch&)> line(int number, const std::string& text,
                                         const std::string& file = "train.tsv") {
  return [=](const Scratch& scratch) { replace_line(scratch / file, number, text); };
}

std::function<void(const Scratch&)> whole(const std::string& text,
                                          const std::string& file = "train.tsv") {
  return [=](const Scratch& scratch) { write_text(scratch / file, text); };
}

std::function<void(const Scratch&)> gzip(const std::function<void(const fs::path&)>& spoil,
                                         const std::string& file = "train.tsv") {
  return [=](const Scratch& scratch) {
    compress(scratch / file);
    spoil(scratch / (file + ".gz"));
  };
}

std::string garbage(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(i * 2654435761U >> 13);
  return text;
}

std::vector<BadInput> files() {
  const auto cut = [](double share) {
    return gzip([=](const fs::path& path) { truncate_file(path, share); });
  };
  return {
      {"Missing",
       3,
       {"there is no data file", "nowhere.tsv", "data.train"},
       {"--data.train=@/nowhere.tsv"}},
      {"NoMatch", 3, {"no data file matches", "part-*"}, {"--data.train=@/part-*"}},
      {"Directory", 3, {"not a regular file"}, {"--data.train=@"}},
      {"DanglingLink",
       3,
       {"there is no data file", "link.tsv"},
       {"--data.train=@/link.tsv"},
       [](const Scratch& s) { fs::create_symlink(s / "nowhere", s / "link.tsv"); }},
      {"Pipe",
       3,
       {"not a regular file"},
       {"--data.train=@/pipe"},
       [](const Scratch& s) { ASSERT_EQ(mkfifo((s / "pipe").c_str(), 0600), 0); }},
      {"SecondMissing",
       3,
       {"there is no data file", "second.tsv"},
       {"--data.train=@/train.tsv,@/second.tsv"}},
      {"ValidMissing", 3, {"there is no data file", "nowhere.tsv"}, {"--data.valid=@/nowhere.tsv"}},
      {"Empty", 3, {"train.tsv holds no sample"}, {}, whole(""), 4},
      {"BlankLines", 3, {"train.tsv holds no sample"}, {}, whole("\n\n  \n")},
      {"ValidEmpty", 3, {"valid.tsv holds no sample"}, {}, whole("", "valid.tsv")},
      {"NotGzip",
       3,
       {"plain.gz is not a gzip file"},
       {"--data.train=@/plain.gz"},
       [](const Scratch& s) { fs::copy_file(s / "train.tsv", s / "plain.gz"); }},
      {"GzipCutAtStart",
       3,
       {"train.tsv.gz", "truncated"},
       {"--data.train=@/train.tsv.gz"},
       cut(0.001)},
      // Behind what rank 0 looks at: every trainer meets it in the middle of the epoch.
      {"GzipCutLate",
       3,
       {"cut.tsv.gz", "truncated"},
       {"--data.train=@/train.tsv,@/train.tsv,@/train.tsv,@/cut.tsv.gz", "--train.epochs=2"},
       [](const Scratch& s) {
         compress(s / "train.tsv");
         fs::rename(s / "train.tsv.gz", s / "cut.tsv.gz");
         truncate_file(s / "cut.tsv.gz", 0.9);
       },
       5},
      {"GzipCorrupt",
       3,
       {"train.tsv.gz is corrupt"},
       {"--data.train=@/train.tsv.gz"},
       gzip([](const fs::path& path) { flip_byte(path, 0.7); }),
       5},
      {"GzipGarbageBehind",
       3,
       {"train.tsv.gz is corrupt"},
       {"--data.train=@/train.tsv.gz"},
       gzip([](const fs::path& path) { write_text(path, read_text(path) + "garbage"); })},
      {"ValidGzipCutLate",
       3,
       {"valid.tsv.gz", "truncated"},
       {"--data.valid=@/train.tsv,@/train.tsv,@/train.tsv,@/valid.tsv.gz"},
       gzip([](const fs::path& path) { truncate_file(path, 0.9); }, "valid.tsv"),
       4},
      {"Binary", 3, {"train.tsv:1", "label"}, {}, whole(garbage(300'000)), 4},
      {"EndlessLine",
       3,
       {"train.tsv:1", "longer than 1 MiB"},
       {},
       whole(std::string(3'000'000, 'x'))},
  };
}

std::vector<BadInput> rows() {
  return {
      {"FirstLabel",
       3,
       {"train.tsv:1", "column 1 (label)", "'2'"},
       {},
       line(1, row("2", "1", "a"))},
      {"NoLabel", 3, {"train.tsv:700", "column 1 (label)"}, {}, line(700, row("", "1", "a"))},
      {"Integer",
       3,
       {"train.tsv:1400", "column 2 (I1)", "'1.5'", "data.max_bad_rows"},
       {},
       line(1400, row("1", "1.5", "a")),
       5},
      {"HugeInteger",
       3,
       {"train.tsv:900", "at most 18 digits"},
       {},
       line(900, row("1", "12345678901234567890", "a"))},
      {"Id", 3, {"train.tsv:800", "column 15 (C1)", "'xyz'"}, {}, line(800, row("1", "1", "xyz"))},
      {"LongId",
       3,
       {"train.tsv:800", "64 bits"},
       {},
       line(800, row("1", "1", "0123456789abcdef0"))},
      {"TooFewColumns",
       3,
       {"train.tsv:1000", "3 columns instead of 40"},
       {},
       line(1000, "1\t2\t3"),
       5},
      {"TooManyColumns",
       3,
       {"train.tsv:1000", "41 columns instead of 40"},
       {},
       line(1000, row("1", "1", "a") + "\t")},
      {"LastRow", 3, {"train.tsv:1500"}, {}, line(kTrainSamples, "1"), 4},
      {"NulByte", 3, {"train.tsv:600"}, {}, line(600, row("1", std::string(1, '\0'), "a"))},
      // Unshuffled, one step of 500: line 1400 is in the last third of the third step.
      {"OfTheLastTrainerOnly",
       3,
       {"trainer 2 (rank 3)", "train.tsv:1400"},
       {"--data.shuffle=false", "--data.shuffle_window=default", "--train.global_batch=500"},
       [](const Scratch& s) {
         replace_line(s / "train.tsv", 1400, "1");
         replace_line(s / "small.ini", 6, "");  // shuffle_window
       },
       4},
      {"OfAWorker",
       3,
       {"worker 0 (rank 1)", "train.tsv:1400"},
       {"--roles.workers=1"},
       line(1400, "1"),
       4},
      {"InTheSecondFile",
       3,
       {"valid.tsv:7"},
       {"--data.train=@/train.tsv,@/valid.tsv"},
       line(7, "x", "valid.tsv")},
      {"InValid",
       3,
       {"valid.tsv:290", "column 1 (label)"},
       {},
       line(290, row("no", "", ""), "valid.tsv"),
       4},
      {"MoreThanAllowed",
       3,
       {"data.max_bad_rows is 2"},
       {"--data.max_bad_rows=2"},
       [](const Scratch& s) {
         for (const int number : {100, 500, 900}) replace_line(s / "train.tsv", number, "1");
       },
       2},
      {"TogetherMoreThanAllowed",
       3,
       {"bad rows in epoch 1", "data.max_bad_rows is 3"},
       {"--data.max_bad_rows=3", "--train.global_batch=1500", "--data.shuffle=false"},
       [](const Scratch& s) {
         for (const int number : {100, 200, 1300, 1400}) replace_line(s / "train.tsv", number, "1");
         replace_line(s / "small.ini", 6, "");
       },
       3},
      {"CsvAsCriteo", 3, {"train.tsv:1", "'1,2,3' is not the label"}, {}, whole("1,2,3\n0,1,2\n")},
      {"CsvRaggedRow",
       3,
       {"train.tsv:3"},
       {"--data.format=csv", "--data.columns=y,x,c", "--data.label=y", "--data.numeric=x",
        "--data.categorical=c", "--data.valid="},
       whole("1,2,a\n0,3,b\n1,2\n0,3,c\n")},
      {"CsvNotANumber",
       3,
       {"train.tsv:2", "x", "'three'"},
       {"--data.format=csv", "--data.columns=y,x,c", "--data.label=y", "--data.numeric=x",
        "--data.categorical=c", "--data.valid=", "--data.dense_transform=standardize"},
       whole("1,2,a\n0,three,b\n"),
       4},
      {"CsvHeaderWithoutColumn",
       2,
       {"data.numeric", "z"},
       {"--data.format=csv", "--data.header=true", "--data.label=y", "--data.numeric=z",
        "--data.categorical=c"},
       whole("y,x,c\n1,2,a\n")},
  };
}

std::vector<BadInput> values() {
  return {
      {"TableFull",
       3,
       {"is full", "eviction", "capacity"},
       {"--table.*.capacity=256", "--table.*.eviction=none", "--train.epochs=3"},
       {},
       4},
      {"DenseLearningRate",
       5,
       {"training stopped at step", "train.max_nonfinite_steps", "learning rates",
        "there is no checkpoint"},
       {"--dense_optimizer.lr=1e30"},
       {},
       4},
      {"TableLearningRate",
       5,
       {"training stopped at step", "learning rates"},
       {"--table.*.optimizer=sgd", "--table.*.lr=1e38", "--train.epochs=20",
        "--train.max_nonfinite_steps=1"}},
  };
}

class BadData : public testing::TestWithParam<BadInput> {};

TEST_P(BadData, IsRefused) {
  const Scratch scratch;
  expect_refusal(GetParam(), scratch);
}

const auto kName = [](const auto& info) { return name_of(info.param); };

INSTANTIATE_TEST_SUITE_P(Files, BadData, testing::ValuesIn(files()), kName);
INSTANTIATE_TEST_SUITE_P(Rows, BadData, testing::ValuesIn(rows()), kName);
INSTANTIATE_TEST_SUITE_P(Values, BadData, testing::ValuesIn(values()), kName);

/// The ranks that mpirun tells to end live on for a second, in which they meet the same fault.
TEST(BadFile, IsToldOnceThoughAllTrainersMeetIt) {
  ::unsetenv("OMPI_MCA_odls_base_sigkill_timeout");
  for (const BadInput& bad : files()) {
    if (bad.name != "GzipCutLate") continue;
    const Scratch scratch;
    expect_refusal(bad, scratch);
    EXPECT_NE(read_text(scratch / "run/fault.txt").find("cut.tsv.gz"), std::string::npos);
  }
  ::setenv("OMPI_MCA_odls_base_sigkill_timeout", "0", 1);
}

/// Bad rows within the limit are left out, counted once in every epoch, and warned of.
TEST(BadRows, AreLeftOutWithinTheLimitOfEachEpoch) {
  for (const int workers : {0, 1}) {
    const Scratch scratch;
    make_data(scratch, kTrainSamples, 300);
    for (const int number : {100, 500, 900}) replace_line(scratch / "train.tsv", number, "1");
    const auto ended =
        run(mpirun(4, {"train", small_config(scratch), "--data.max_bad_rows=3", "--train.epochs=3",
                       "--roles.workers=" + std::to_string(workers)}));
    ASSERT_EQ(ended.code, 0) << ended.output;
    EXPECT_EQ(summary(scratch / "run").at("bad_rows"), 9) << ended.output;
    EXPECT_EQ(summary(scratch / "run").at("total_samples"), 3 * (kTrainSamples - 3));
    EXPECT_NE(ended.output.find("satrap: warning:"), std::string::npos) << ended.output;
  }
}

/// A fault in the evaluation data is found at the end of training, which must not be lost.
TEST(BadRows, InTheEvaluationDataLoseNoTraining) {
  const Scratch scratch;
  make_data(scratch, kTrainSamples, 300);
  replace_line(scratch / "valid.tsv", 200, "1");
  const auto config = small_config(scratch);
  expect_one_message(run(mpirun(3, {"train", config})), 3, {"valid.tsv:200"});
  make_data(scratch, kTrainSamples, 300);
  const auto again = run(mpirun(3, {"train", config}));
  ASSERT_EQ(again.code, 0) << again.output;
  EXPECT_EQ(summary(scratch / "run").at("samples"), 0);
  EXPECT_EQ(summary(scratch / "run").at("total_samples"), kTrainSamples);
}

}  // namespace
}  // namespace satrap::test
