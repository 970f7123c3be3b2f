#include <gmock/gmock.h>

#include <algorithm>
#include <bit>

#include "h5/file.hpp"
#include "model.hpp"

namespace satrap::checkpoint {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(RoundTrip, AnyNumberOfServersReadsWhatAnyNumberWrote) {
  const Folder folder;
  const auto configs = all_tables();
  const auto job = make_job(configs, 1, 500);
  auto path = save(folder.path(), 1, job);
  Step step = 1;
  for (const std::int32_t servers : {4, 2, 3, 16, 1}) {
    const auto loaded = load_job(path, configs, servers);
    EXPECT_TRUE(same_rows(job, loaded)) << servers << " servers";
    path = save(folder.path(), ++step, loaded);
  }
}

TEST(RoundTrip, ManyBlocksPerTable) {
  const Folder folder;
  // A row has 8 + 4 + 8 + 4 * 768 bytes, so that a block of 4 MiB has 1356 rows.
  const std::vector configs = {table_config("wide", config::Optimizer::adam, 256)};
  const auto job = make_job(configs, 2, 6000);
  const auto path = save(folder.path(), 1, job);
  EXPECT_TRUE(same_rows(job, load_job(path, configs, 2)));
  EXPECT_TRUE(same_rows(job, load_job(path, configs, 3)));
  verify(path);
}

TEST(RoundTrip, EmptyTables) {
  const Folder folder;
  const auto job = make_job(all_tables(), 2, 0);
  const auto path = save(folder.path(), 1, job);
  EXPECT_TRUE(same_rows(job, load_job(path, all_tables(), 3)));
  EXPECT_EQ(describe(path).tables.at(0).rows, 0);
}

TEST(RoundTrip, TheSameRowsGiveTheSameRowsInTheFiles) {
  const Folder folder;
  const auto job = make_job(all_tables(), 2, 100);
  const auto one = save(folder.path(), 1, job);
  const auto again = save(folder.path(), 2, load_job(one, all_tables(), 2));
  for (const char* column : {"tables/adam/ids", "tables/adam/touched"}) {
    EXPECT_EQ(h5::File::open(one / "server-1.h5").dataset(column).read<std::uint64_t>(),
              h5::File::open(again / "server-1.h5").dataset(column).read<std::uint64_t>());
  }
}

TEST(RoundTrip, Dense) {
  const Folder folder;
  const auto path = save(folder.path(), 100, make_job(all_tables(), 1, 1));
  Dense loaded;
  const Dense expected;
  loaded.state.step = 0;
  loaded.state.position = {};
  loaded.state.samples = 0;
  loaded.state.seed = 0;
  loaded.state.config_ini = "of the running job";
  load_dense(path, loaded.state);
  EXPECT_EQ(loaded.state.step, 100);
  EXPECT_EQ(loaded.state.position, expected.state.position);
  EXPECT_EQ(loaded.state.samples, expected.state.samples);
  EXPECT_EQ(loaded.state.seed, expected.state.seed);
  EXPECT_EQ(loaded.state.config_ini, "of the running job");
  EXPECT_EQ(describe(path).config_ini, expected.state.config_ini);
  EXPECT_EQ(loaded.weight, std::vector<float>(6, 100.0F));
  EXPECT_EQ(loaded.bias, std::vector<float>(3, 100.0F));
}

/// All elements of a dataset of `bytes` bytes, as they are in the file.
std::vector<std::byte> bytes_of(const h5::Dataset& dataset, std::size_t bytes) {
  std::vector<std::byte> values(bytes);
  dataset.read_rows(0, dataset.shape()[0], values);
  return values;
}

/// What another program makes of weights of each type, without knowing of Satrap.
TEST(RoundTrip, WeightsReadAsNumbers) {
  const Folder folder;
  using config::Optimizer;
  using config::Storage;
  std::vector<config::TableConfig> configs;
  for (const auto& [storage, name] : config::Spellings<Storage>::all) {
    configs.push_back(table_config(std::string(name), Optimizer::sgd, 3, storage));
  }
  auto job = make_job(configs, 2, 50);
  const auto path = save(folder.path(), 1, job);
  const auto top = h5::File::open(path / "checkpoint.h5");
  for (std::size_t t = 0; t < configs.size(); ++t) {
    SCOPED_TRACE(configs[t].name);
    const auto group = top.group("tables/" + configs[t].name);
    auto weights = group.dataset("weights").read<float>();
    if (configs[t].storage == Storage::bf16) {
      const auto bits = group.dataset("weights").read<std::uint16_t>();
      std::ranges::transform(bits, weights.begin(), [](std::uint16_t half) {
        return std::bit_cast<float>(std::uint32_t{half} << 16);
      });
    } else if (configs[t].storage == Storage::int8) {
      const auto scales = group.dataset("scales").read<float>();
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] *= scales[i / 3];
    }
    std::vector<float> expected(weights.size());
    const auto ids = rows_of(job, t).ids;
    const RowPlacement placement(kVirtualShards, 2);
    for (std::size_t r = 0; r < ids.size(); ++r) {
      const auto server = placement.server_of(TableId{static_cast<std::uint32_t>(t)}, ids[r]);
      job[static_cast<std::size_t>(raw(server))][t].peek({&ids[r], 1}, &expected[r * 3]);
    }
    EXPECT_EQ(weights, expected);
  }
}

TEST(RoundTrip, SmallTypesMakeSmallFiles) {
  const Folder folder;
  constexpr std::int64_t kRows = 5000;
  constexpr std::int64_t kDim = 64;
  Step step = 0;
  for (const auto& [storage, weight_bytes] : {std::pair{config::Storage::fp32, 4 * kDim},
                                              {config::Storage::fp16, 2 * kDim},
                                              {config::Storage::bf16, 2 * kDim},
                                              {config::Storage::int8, kDim + 4}}) {
    const std::vector configs = {
        table_config("t", config::Optimizer::rowwise_adagrad, kDim, storage)};
    const auto path = save(folder.path(), ++step, make_job(configs, 1, kRows));
    // Id, accumulator and touched, besides the weights; and all that is not rows.
    const auto rows = kRows * (8 + 4 + 8 + weight_bytes);
    const auto bytes = static_cast<std::int64_t>(fs::file_size(path / "server-0.h5"));
    EXPECT_GE(bytes, rows);
    EXPECT_LT(bytes, rows + 32'768);
  }
}

TEST(RoundTrip, TheTopFileShowsTheWholeModel) {
  const Folder folder;
  const auto configs = all_tables();
  const auto job = make_job(configs, 3, 50);
  const auto path = save(folder.path(), 7, job);
  const auto elsewhere = folder.path() / "moved";
  fs::rename(path, elsewhere);  // the parts are found beside the top file, wherever it lies
  const h5::File top = h5::File::open(elsewhere / "checkpoint.h5");
  EXPECT_EQ(top.attribute<std::int64_t>("step"), 7);
  for (std::size_t t = 0; t < configs.size(); ++t) {
    const auto expected = rows_of(job, t);
    const auto group = top.group("tables/" + configs[t].name);
    const auto ids = group.dataset("ids").read<std::uint64_t>();
    ASSERT_EQ(ids.size(), expected.ids.size());
    EXPECT_TRUE(std::equal(ids.begin(), ids.end(), expected.ids.begin(),
                           [](std::uint64_t a, FeatureId b) { return a == raw(b); }));
    EXPECT_EQ(bytes_of(group.dataset("weights"), expected.weights.size()), expected.weights);
    EXPECT_EQ(bytes_of(group.dataset("state"), expected.state.size()), expected.state);
    EXPECT_EQ(group.has("scales"), configs[t].storage == config::Storage::int8);
    EXPECT_EQ(group.has("updates"), job[0][t].layout().has_updates);
    if (group.has("scales")) {
      EXPECT_EQ(group.dataset("scales").read<float>(), expected.scales);
    }
    if (group.has("updates")) {
      EXPECT_EQ(group.dataset("updates").read<std::uint32_t>(), expected.updates);
    }
    EXPECT_EQ(group.dataset("touched").read<std::uint64_t>(), expected.touched);
    EXPECT_THAT(group.dataset("weights").shape(), ElementsAre(50, configs[t].dim));
  }
  EXPECT_THAT(top.dataset("dense/arrays/top/0/bias").read<float>(), ElementsAre(7, 7, 7));
}

TEST(Describe, SaysWhatThereIs) {
  const Folder folder;
  const auto info = describe(save(folder.path(), 7, make_job(all_tables(), 2, 50)));
  EXPECT_EQ(info.step, 7);
  EXPECT_EQ(info.servers, 2);
  EXPECT_EQ(info.virtual_shards, kVirtualShards);
  EXPECT_EQ(info.position, (data::Position{2, 777}));
  EXPECT_EQ(info.dense_floats, 9);
  EXPECT_GT(info.bytes, 5 * 50 * 30);
  ASSERT_EQ(info.tables.size(), 9U);
  EXPECT_EQ(info.tables[2].name, "bf16_moments");
  EXPECT_EQ(info.tables[2].optimizer, "adam");
  EXPECT_EQ(info.tables[2].dim, 3);
  EXPECT_EQ(info.tables[2].storage, config::Storage::fp16);
  EXPECT_EQ(info.tables[2].state_values, 6);
  EXPECT_EQ(info.tables[2].state_storage, config::Storage::bf16);
  EXPECT_EQ(info.tables[2].rows, 50);
}

class Mismatch : public testing::Test {
 protected:
  /// What loading into tables of `configs` says.
  std::string load(const std::vector<config::TableConfig>& configs) {
    return message_of([&] { load_job(path_, configs, 1); });
  }
  std::string load_arrays(const std::vector<NamedArray>& arrays) {
    DenseState state;
    state.arrays = arrays;
    return message_of([&] { load_dense(path_, state); });
  }

  const Folder folder_;
  std::vector<config::TableConfig> configs_ = all_tables();
  const fs::path path_ = save(folder_.path(), 1, make_job(configs_, 2, 20));
  std::vector<float> values_ = std::vector<float>(6);
};

TEST_F(Mismatch, OfTables) {
  auto configs = configs_;
  configs[2].dim = 6;
  EXPECT_THAT(load(configs), AllOf(HasSubstr("adagrad"), HasSubstr("5"), HasSubstr("6")));
  configs = configs_;
  configs[3].optimizer = config::Optimizer::adam;
  EXPECT_THAT(load(configs), AllOf(HasSubstr("rowwise_adagrad"), HasSubstr("adam")));
  configs = configs_;
  configs[0].momentum = 0.5;
  EXPECT_THAT(load(configs), AllOf(HasSubstr("plain"), HasSubstr("state")));
  configs = configs_;
  configs[1].hash_rows = 2;
  configs[1].hash_buckets = 100;
  EXPECT_THAT(load(configs), HasSubstr("momentum has hash_rows 0 in the checkpoint and 2 in"));
  configs = configs_;
  configs[5].storage = config::Storage::int8;
  EXPECT_THAT(load(configs),
              HasSubstr("rowwise_adam has the storage fp16 in the checkpoint and int8 in"));
  configs = configs_;
  configs[8].moments = config::Storage::fp32;
  EXPECT_THAT(load(configs), HasSubstr("moments of type bf16 in the checkpoint and fp32 in"));
  configs = configs_;
  configs[4].bias_correction = config::BiasCorrection::global;
  EXPECT_THAT(load(configs), HasSubstr("bias_correction row in the checkpoint and global in"));
  configs = configs_;
  std::swap(configs[0], configs[1]);
  EXPECT_THAT(load(configs), HasSubstr("place"));
  configs = configs_;
  configs.pop_back();
  EXPECT_THAT(load(configs), HasSubstr("the config has no table bf16_moments"));
  configs = configs_;
  configs[4].name = "other";
  EXPECT_THAT(load(configs), HasSubstr("the checkpoint has no table other"));
}

TEST_F(Mismatch, OfVirtualShards) {
  auto tables = make_tables(configs_);
  EXPECT_THAT(message_of([&] {
                load_shard(path_, RowPlacement(kVirtualShards * 2, 1), ServerId{0}, tables);
              }),
              AllOf(HasSubstr("virtual_shards"), HasSubstr("64"), HasSubstr("128")));
}

TEST_F(Mismatch, OfDenseArrays) {
  const std::span<float> weight(values_);
  const NamedArray top = {"top/0/weight", {3, 2}, weight};
  const NamedArray bias = {"top/0/bias", {3}, weight.first(3)};
  EXPECT_THAT(load_arrays({top}), HasSubstr("top/0/bias is extra"));
  EXPECT_THAT(load_arrays({top, bias, {"top/1/bias", {3}, weight.first(3)}}),
              HasSubstr("top/1/bias is missing"));
  EXPECT_THAT(load_arrays({{"top/0/weight", {2, 3}, weight}, bias}),
              HasSubstr("top/0/weight has the shape [3, 2] instead of [2, 3]"));
  EXPECT_EQ(load_arrays({bias, top}), "nothing was thrown");
}

TEST_F(Mismatch, OfCapacity) {
  auto configs = configs_;
  configs[3].capacity = 10;
  EXPECT_THAT(load(configs), testing::Not(HasSubstr("nothing was thrown")));
}

TEST(Save, RefusesNamesThatAreNoHdf5Names) {
  const Folder folder;
  const std::vector configs = {table_config("a/b", config::Optimizer::sgd, 2)};
  EXPECT_THAT(message_of([&] { save(folder.path(), 1, make_job(configs, 1, 1)); }),
              HasSubstr("a/b"));
}

}  // namespace
}  // namespace satrap::checkpoint
