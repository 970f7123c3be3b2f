#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

#include "data/reader.hpp"
#include "data/row.hpp"
#include "unit/data/support.hpp"

namespace satrap::data {
namespace {

/// Real rows are not part of the repository: $SATRAP_DATA, else where the build says.
class RealRows : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("SATRAP_DATA");
    if (folder == nullptr || *folder == '\0') folder = std::getenv("SATRAP_DATA_DEFAULT");
    if (folder == nullptr || !std::filesystem::is_directory(folder)) {
      GTEST_SKIP() << "no folder of real rows; set SATRAP_DATA";
    }
    folder_ = folder;
  }

  struct Totals {
    std::int64_t samples = 0;
    double positives = 0;
    std::int64_t missing = 0;
    double dense_sum = 0;
    std::set<FeatureId> ids_of_first_slot;
  };

  Totals read_all(const config::Config& config, const std::string& file) {
    const auto files = expand_files({(folder_ / file).string()});
    SampleReader reader(config, files, SampleReader::Order::shuffled);
    Totals totals;
    SampleBatch batch;
    while (const auto n = reader.next_step(4096)) {
      reader.parse(0, n, batch);
      totals.samples += batch.size();
      for (const float y : batch.labels) totals.positives += y;
      for (const float x : batch.dense) totals.dense_sum += x;
      for (const SlotIds& slot : batch.slots) {
        for (const FeatureId id : slot.ids) totals.missing += id == kMissingCategory;
      }
      const auto& first = batch.slots[0].ids;
      totals.ids_of_first_slot.insert(first.begin(), first.end());
    }
    EXPECT_EQ(reader.bad_rows(), 0);
    return totals;
  }

  std::filesystem::path folder_;
};

config::Config adult_config() {
  config::Config config;
  config.data.format = config::DataFormat::csv;
  config.data.dense_transform = config::DenseTransform::none;
  config.data.columns = {"age",
                         "workclass",
                         "fnlwgt",
                         "education",
                         "education_num",
                         "marital_status",
                         "occupation",
                         "relationship",
                         "race",
                         "gender",
                         "capital_gain",
                         "capital_loss",
                         "hours_per_week",
                         "native_country",
                         "income"};
  config.data.numeric = {"age", "hours_per_week"};
  config.data.label = config.data.columns.back();
  config.data.label_positive = {">50K", ">50K."};
  config.data.comment = '|';
  add_slots(config, {"workclass", "native_country"});
  return config;
}

// The expected numbers were counted with awk over the files.

TEST_F(RealRows, AllCriteoRowsParse) {
  const Totals train = read_all(criteo_config(), "criteo/train.tsv.gz");
  EXPECT_EQ(train.samples, 109'712);
  EXPECT_EQ(train.positives, 28'110);
  EXPECT_EQ(train.missing, 313'362);
  const Totals valid = read_all(criteo_config(), "criteo/valid.tsv.gz");
  EXPECT_EQ(valid.samples, 13'714);
  EXPECT_EQ(valid.positives, 3'557);
}

TEST_F(RealRows, AllAdultRowsParse) {
  const Totals train = read_all(adult_config(), "adult/adult.data");
  EXPECT_EQ(train.samples, 32'561);
  EXPECT_EQ(train.positives, 7'841);
  EXPECT_EQ(train.missing, 2'419);
  EXPECT_EQ(train.dense_sum, 2'572'941);
  EXPECT_EQ(train.ids_of_first_slot.size(), 9U);
  const Totals test = read_all(adult_config(), "adult/adult.test");
  EXPECT_EQ(test.samples, 16'281);
  EXPECT_EQ(test.positives, 3'846);
}

}  // namespace
}  // namespace satrap::data
