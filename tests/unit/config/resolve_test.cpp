#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "unit/config/support.hpp"

namespace satrap::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const TableConfig& table(const Config& config, std::string_view name) {
  for (const auto& table : config.tables)
    if (table.name == name) return table;
  throw InternalError(fmt::format("no table {}", name));
}

std::vector<std::string> table_names(const Config& config) {
  std::vector<std::string> names;
  for (const auto& table : config.tables) names.push_back(table.name);
  return names;
}

TEST(Resolve, CriteoHas26SlotsAnd13DenseFeatures) {
  const auto config = resolved(kCriteo);
  ASSERT_EQ(config.slots.size(), 26u);
  ASSERT_EQ(config.tables.size(), 26u);
  EXPECT_EQ(config.slots.front().name, "C1");
  EXPECT_EQ(config.slots.back().table, "C26");
  EXPECT_EQ(config.dense_features(), 13);
  EXPECT_EQ(config.table_of_slot(25), 25u);
}

TEST(Resolve, CsvSlotsAreItsCategoricalColumns) {
  const auto config = resolved(kCsv);
  EXPECT_THAT(table_names(config), ElementsAre("job", "city"));
  EXPECT_EQ(config.dense_features(), 1);
}

TEST(Resolve, TheCommandLineWinsOverTheFile) {
  const auto config = resolved(with(kCriteo, "[train]\nepochs = 2\nsteps = 7\n[model]\ntop = 8\n"),
                               {"--train.epochs", "3", "--model.top="});
  EXPECT_EQ(config.train.epochs, 3);
  EXPECT_EQ(config.train.steps, 7);
  EXPECT_THAT(config.model.top, ElementsAre());
}

TEST(Resolve, GlobsOverTablesLaterSettingsWin) {
  const auto config = resolved(with(kCriteo,
                                    "[table.C2]\nlr = 0.9\n"
                                    "[table.*]\nlr = 0.1\ndim = 8\n"
                                    "[table.C1?]\nlr = 0.2\n"
                                    "[table.C1[01]]\nlr = 0.3\n"
                                    "[table.C7]\nlr = 0.4\n"),
                               {"--table.C8.lr=0.5", "--table.C7.lr=default"});
  EXPECT_EQ(table(config, "C2").lr, 0.1);
  EXPECT_EQ(table(config, "C12").lr, 0.2);
  EXPECT_EQ(table(config, "C11").lr, 0.3);
  EXPECT_EQ(table(config, "C8").lr, 0.5);
  EXPECT_EQ(table(config, "C7").lr, TableConfig{}.lr);
  EXPECT_EQ(table(config, "C26").dim, 8);
}

TEST(Resolve, SlotsShareATable) {
  const auto config = resolved(with(kCriteo,
                                    "[slot.C2]\ntable = shared\n"
                                    "[slot.C4]\ntable = shared\npooling = mean\n"
                                    "[slot.C5]\ntable = C3\n"
                                    "[table.shared]\nlr = 0.7\n"));
  EXPECT_EQ(config.tables.size(), 24u);
  EXPECT_EQ(config.tables[1].name, "shared");  // in the order of first use
  EXPECT_EQ(config.tables[2].name, "C3");
  EXPECT_EQ(config.tables[3].name, "C6");
  EXPECT_EQ(config.tables[1].lr, 0.7);
  EXPECT_EQ(config.table_of_slot(3), 1u);
  EXPECT_EQ(config.table_of_slot(4), 2u);
  EXPECT_EQ(config.slots[3].pooling, Pooling::mean);
}

TEST(Resolve, AGlobMayReachTablesWhereItsKeyHasNoEffect) {
  const auto config = resolved(with(kCriteo,
                                    "[table.*]\nmomentum = 0.9\n"
                                    "[table.C1]\noptimizer = sgd\n"));
  EXPECT_EQ(table(config, "C1").momentum, 0.9);
  EXPECT_EQ(table(config, "C2").momentum, 0.0);
}

TEST(Resolve, DefaultTakesASettingBack) {
  const auto text = with(kCriteo, "[schedule]\ndecay = cosine\ndecay_steps = 9\n");
  const auto config =
      resolved(text, {"--schedule.decay=default", "--schedule.decay_steps=default"});
  EXPECT_EQ(config.schedule, ScheduleConfig{});
  EXPECT_EQ(resolved(kCriteo, {"--job.run_dir=\"default\""}).job.run_dir, "default");
}

TEST(Resolve, CompletesWhatKeysLeaveOpen) {
  EXPECT_EQ(resolved(with(kCriteo, "[train]\nmode = sync\n")).train.staleness, 1);
  EXPECT_EQ(resolved(with(kCriteo, "[train]\nmode = sync\nstaleness = 1\n")).train.staleness, 1);
  EXPECT_EQ(resolved(with(kCriteo, "[schedule]\nwarmup_steps = 5\ndecay = cosine\ndecay_steps=9\n"))
                .schedule.decay_start,
            5);
  EXPECT_EQ(resolved(with(kCsv, "delimiter = \\t\n")).data.delimiter, "\t");
}

class CsvHeader : public testing::Test {
 protected:
  CsvHeader() { std::filesystem::create_directories(folder_); }
  ~CsvHeader() override { std::filesystem::remove_all(folder_); }

  Config resolve_with(const std::string& train, const std::string& more = "") {
    return resolved(
        "[data]\nformat = csv\nheader = true\ncategorical = job\nnumeric = age\n"
        "label = y\ntrain = " +
        (folder_ / train).string() + "\n" + more);
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("satrap_config_test.{}", getpid());
};

TEST_F(CsvHeader, NamesTheColumns) {
  std::ofstream(folder_ / "a.csv") << "\xEF\xBB\xBF\n# a\n age , \"job\",\"y\"\r\n1,x,0\n";
  EXPECT_EQ(resolve_with("a.csv", "comment = \"#\"\n").slots.size(), 1u);
  EXPECT_EQ(resolve_with("*.csv", "comment = \"#\"\n").slots.size(), 1u);

  std::ofstream(folder_ / "b.csv") << "age::y::job\n";
  EXPECT_EQ(resolve_with("b.csv", "delimiter = ::\n").slots.size(), 1u);

  const auto zipped = gzopen((folder_ / "c.csv.gz").c_str(), "wb");
  gzputs(zipped, "age,y,job");
  gzclose(zipped);
  EXPECT_EQ(resolve_with("c.csv.gz").slots.size(), 1u);
}

TEST_F(CsvHeader, RefusesColumnsThatDoNotExist) {
  std::ofstream(folder_ / "a.csv") << "age,jobs,y\n";
  EXPECT_THAT(refusal([&] { resolve_with("a.csv"); }),
              HasSubstr("x.ini:4: data.categorical = job names the column job, which does not "
                        "exist; did you mean jobs?"));
}

TEST_F(CsvHeader, FilesThatCannotBeRead) {
  std::ofstream(folder_ / "empty.csv") << "";
  EXPECT_THROW(resolve_with("none.csv"), DataError);
  EXPECT_THROW(resolve_with("*.none"), DataError);
  EXPECT_THROW(resolve_with("empty.csv"), DataError);
  EXPECT_THROW(resolve_with(""), DataError);
}

TEST_F(CsvHeader, IsNotReadWhereFilesAreSkipped) {
  const auto settings = parse_ini(
      "[data]\nformat = csv\nheader = true\ncategorical = job\nlabel = y\ntrain = none.csv\n"
      "[model]\nkind = ffnn\n",
      "x.ini");
  EXPECT_EQ(resolve(settings, Files::skip).slots.size(), 1u);
}

TEST(Roles, FillInTheTrainers) {
  auto config = resolved(with(kCriteo, "[roles]\nservers = 2\nworkers = 1\n"));
  resolve_roles(config, 5);
  EXPECT_EQ(config.roles.trainers, 2);
  resolve_roles(config, 5);
  EXPECT_EQ(config.roles.trainers, 2);
}

TEST(Tables, KnowHowManyRowsABatchNeeds) {
  const auto config =
      resolved(with(kCriteo,
                    "[slot.C2]\ntable = C1\n[table.C3]\nhash_rows = 3\nhash_buckets = 50\n"
                    "[table.C1]\nhash_rows = 2\nhash_buckets = 1000\n"));
  const auto most_rows = [&](std::string_view name, std::int64_t samples) {
    const auto found = std::find_if(config.tables.begin(), config.tables.end(),
                                    [&](const auto& table) { return table.name == name; });
    return config.most_rows(static_cast<std::size_t>(found - config.tables.begin()), samples);
  };
  EXPECT_EQ(most_rows("C4", 10), 10);
  EXPECT_EQ(most_rows("C3", 10), 30);
  EXPECT_EQ(most_rows("C3", 60), 150);    // all of them
  EXPECT_EQ(most_rows("C1", 10), 40);     // of two slots
  EXPECT_EQ(most_rows("C1", 501), 2000);  // all of them
}

TEST(Roles, RefuseAWorldThatDoesNotFit) {
  auto any = resolved(with(kCriteo, "[roles]\nservers = 2\nworkers = 1\n"));
  EXPECT_THAT(refusal([&] { resolve_roles(any, 3); }),
              AllOf(HasSubstr("3 ranks do not fit"), HasSubstr("mpirun -n 4 or more")));
  auto two = resolved(with(kCriteo, "[roles]\nservers = 2\ntrainers = 2\n"));
  EXPECT_THAT(
      refusal([&] { resolve_roles(two, 5); }),
      AllOf(HasSubstr("need 4"), HasSubstr("mpirun -n 4"), HasSubstr("or set roles.trainers = 3")));
  EXPECT_THAT(refusal([&] { resolve_roles(two, 1); }), HasSubstr("start it with mpirun -n 4"));
  auto none = any;
  none.roles.servers = 0;
  EXPECT_THAT(refusal([&] { resolve_roles(none, 2); }), HasSubstr("no embedding server"));
  auto shards =
      resolved(with(kCriteo, "[roles]\nservers = 65\n[checkpoint]\nvirtual_shards = 64\n"));
  EXPECT_THAT(refusal([&] { resolve_roles(shards, 66); }),
              HasSubstr("roles.servers = 65 leaves servers without rows"));
  auto small = resolved(with(kCriteo, "[train]\nglobal_batch = 3\n[table.C1]\ncapacity = 4\n"));
  small.roles.servers = 5;
  EXPECT_THAT(refusal([&] { resolve_roles(small, 6); }),
              HasSubstr("table.C1.capacity = 4 is less than a row for each of 5 servers"));
  small.roles.servers = 1;
  EXPECT_THAT(refusal([&] { resolve_roles(small, 5); }),
              HasSubstr("train.global_batch = 3 is less than the 4 trainers"));
}

}  // namespace
}  // namespace satrap::config
