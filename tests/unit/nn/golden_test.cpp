#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "h5/file.hpp"
#include "nn/loss.hpp"
#include "nn/model.hpp"
#include "nn/optimizer.hpp"
#include "nn/pooling.hpp"
#include "store/table.hpp"
#include "support/golden.hpp"

namespace satrap::nn {
namespace {

constexpr double kStepTolerance = 1e-5;    // of logits and losses
constexpr double kWeightTolerance = 1e-4;  // of weights after the last step

/// A model of the file, or nothing if it is not built yet.
std::optional<config::ModelConfig> model_config(const h5::Group& file) {
  const auto number = [&](const char* name, std::int64_t otherwise) {
    return file.has_attribute(name) ? file.attribute<std::int64_t>(name) : otherwise;
  };
  const auto widths = [&](const char* name) {
    return file.has_attribute(name) ? file.attribute<std::vector<std::int64_t>>(name)
                                    : std::vector<std::int64_t>{};
  };
  config::ModelConfig config;
  const auto model = file.attribute<std::string>("model");
  if (model == "dlrm") {
    config.kind = config::Model::dlrm;
  } else if (model == "ffnn" || model == "ffnn_bn") {
    config.kind = config::Model::ffnn;
    config.batch_norm = model == "ffnn_bn";
  } else {
    return std::nullopt;
  }
  config.bottom = widths("bottom");
  config.top = widths("top");
  config.sparse_width = number("sparse_width", config.sparse_width);
  config.dense_width = number("dense_width", config.dense_width);
  return config;
}

/// Fills in the kind and hyper-parameters of `prefix` ("dense_optimizer" or "sparse_optimizer");
/// false if the kind is not built yet.
template <class Config>
bool read_optimizer(const h5::Group& file, const std::string& prefix, Config& config,
                    config::Optimizer Config::*kind) {
  const std::map<std::string, config::Optimizer> kinds = {
      {"sgd", config::Optimizer::sgd},
      {"adagrad", config::Optimizer::adagrad},
      {"rowwise_adagrad", config::Optimizer::rowwise_adagrad},
      {"adam", config::Optimizer::adam}};
  const auto found = kinds.find(file.attribute<std::string>(prefix));
  if (found == kinds.end()) return false;
  config.*kind = found->second;
  const std::map<std::string, double Config::*> fields = {
      {"lr", &Config::lr},
      {"momentum", &Config::momentum},
      {"beta1", &Config::beta1},
      {"beta2", &Config::beta2},
      {"eps", &Config::eps},
      {"initial_accumulator", &Config::initial_accumulator},
      {"weight_decay", &Config::weight_decay}};
  for (const std::string& name : file.attributes()) {
    if (!name.starts_with(prefix + ".")) continue;
    const auto field = fields.find(name.substr(prefix.size() + 1));
    if (field == fields.end()) return false;
    config.*field->second = file.attribute<double>(name);
  }
  return true;
}

/// The bags of one table in one step, as a worker prepares them.
struct Bags {
  std::vector<FeatureId> unique;
  std::vector<std::uint32_t> indices;
  std::vector<std::uint32_t> offsets;
};

Bags read_bags(const h5::Group& group) {
  Bags bags;
  std::map<std::uint64_t, std::uint32_t> seen;
  for (const std::uint64_t id : group.dataset("ids").read<std::uint64_t>()) {
    const auto [found, is_new] =
        seen.try_emplace(id, static_cast<std::uint32_t>(bags.unique.size()));
    if (is_new) bags.unique.push_back(FeatureId{id});
    bags.indices.push_back(found->second);
  }
  for (const std::uint64_t offset : group.dataset("offsets").read<std::uint64_t>()) {
    bags.offsets.push_back(static_cast<std::uint32_t>(offset));
  }
  return bags;
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

/// A table whose ids 0, 1, ... have the rows of `weights`.
store::Table make_table(std::size_t index, config::TableConfig config, const h5::Dataset& weights) {
  const h5::Shape shape = weights.shape();
  config.name = std::to_string(index);
  config.dim = shape.at(1);
  store::Table table(TableId{static_cast<std::uint32_t>(index)}, config, 1);
  const auto rows = static_cast<std::size_t>(shape.at(0));
  store::RowBlock block;
  for (std::size_t id = 0; id < rows; ++id) block.ids.push_back(FeatureId{id});
  block.weights = bytes_of(weights.read<float>());
  block.state = bytes_of(std::vector<float>(rows * static_cast<std::size_t>(table.state_values()),
                                            static_cast<float>(config.initial_accumulator)));
  block.updates.assign(table.layout().has_updates ? rows : 0, 0);
  block.touched.assign(rows, 0);
  table.import_rows(block);
  return table;
}

void expect_near(std::span<const float> actual, const std::vector<double>& expected,
                 double tolerance, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(actual[i]), expected[i], tolerance) << what << ", value " << i;
  }
}

/// One golden file and what it trains.
class GoldenModel {
 public:
  GoldenModel(const h5::Group& file, const config::ModelConfig& model,
              const config::TableConfig& table, const config::DenseOptimizerConfig& optimizer)
      : file_(file) {
    shape_.dense_features = file.dataset("steps/1/dense").shape().at(1);
    const auto pooling = file.attribute<std::vector<std::string>>("pooling");
    for (std::size_t t = 0; t < pooling.size(); ++t) {
      tables_.push_back(make_table(t, table, file.dataset("init/tables/" + std::to_string(t))));
      shape_.slot_dims.push_back(tables_.back().dim());
      pooling_.push_back(pooling[t] == "mean" ? config::Pooling::mean : config::Pooling::sum);
    }
    model_ = make_model(model, shape_, 1);
    load(model_->parameter_info(), model_->parameters());
    load(model_->state_info(), model_->state());
    optimizer_ = make_optimizer(optimizer, static_cast<std::int64_t>(model_->parameters().size()));
  }

  void train_step(Step step) {
    const h5::Group group = file_.group("steps/" + std::to_string(step));
    const auto dense = group.dataset("dense").read<float>();
    const auto labels = group.dataset("labels").read<float>();
    const auto batch = static_cast<std::int64_t>(labels.size());
    std::vector<float> pooled(labels.size() * static_cast<std::size_t>(shape_.pooled_width()));
    std::vector<Bags> bags;
    std::int64_t column = 0;
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      bags.push_back(read_bags(group.group("tables/" + std::to_string(t))));
      std::vector<float> rows(bags[t].unique.size() * static_cast<std::size_t>(tables_[t].dim()));
      tables_[t].lookup(bags[t].unique, step, rows.data());
      pool_forward(view(batch, bags[t], t), rows.data(), pooled.data() + column,
                   shape_.pooled_width());
      column += tables_[t].dim();
    }

    const auto logits = model_->forward(batch, dense.data(), pooled.data(), true);
    expect_near(logits, group.dataset("logits").read<double>(), kStepTolerance, "logits");
    std::vector<float> d_logits(labels.size());
    const auto n = static_cast<double>(batch);
    const double loss = bce_with_logits(batch, logits.data(), labels.data(),
                                        static_cast<float>(1.0 / n), d_logits.data());
    EXPECT_NEAR(loss / n, group.dataset("loss").read<double>().at(0), kStepTolerance);

    const auto d_pooled = model_->backward(d_logits.data(), {});
    apply_to_tables(step, batch, bags, d_pooled);
    optimizer_->update(model_->parameters(), model_->gradients(), step, 1.0f);
  }

  void expect_final() {
    expect_arrays(model_->parameter_info(), model_->parameters());
    expect_arrays(model_->state_info(), model_->state());
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      const std::string name = "final/tables/" + std::to_string(t);
      std::vector<FeatureId> ids;
      for (std::int64_t id = 0; id < tables_[t].size(); ++id) {
        ids.push_back(FeatureId{static_cast<std::uint64_t>(id)});
      }
      std::vector<float> rows(ids.size() * static_cast<std::size_t>(tables_[t].dim()));
      tables_[t].peek(ids, rows.data());
      expect_near(rows, file_.dataset(name).read<double>(), kWeightTolerance, name);
    }
  }

 private:
  BagView view(std::int64_t batch, const Bags& bags, std::size_t table) const {
    return {batch, bags.indices.data(), bags.offsets.data(), tables_[table].dim(), pooling_[table]};
  }

  void apply_to_tables(Step step, std::int64_t batch, const std::vector<Bags>& bags,
                       std::span<const float> d_pooled) {
    std::int64_t column = 0;
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      std::vector<float> gradients(bags[t].unique.size() *
                                   static_cast<std::size_t>(tables_[t].dim()));
      pool_backward(view(batch, bags[t], t), d_pooled.data() + column, shape_.pooled_width(),
                    gradients.data());
      tables_[t].apply(bags[t].unique, gradients.data(), {.step = step, .lr_factor = 1.0f});
      column += tables_[t].dim();
    }
  }

  static std::span<float> part(std::span<float> all, const ParameterInfo& info) {
    return all.subspan(static_cast<std::size_t>(info.offset), static_cast<std::size_t>(info.size));
  }

  void load(const std::vector<ParameterInfo>& layout, std::span<float> values) {
    for (const ParameterInfo& info : layout) {
      const h5::Dataset dataset = file_.dataset("init/dense/" + info.name);
      ASSERT_EQ(dataset.shape(), info.shape) << info.name;
      std::ranges::copy(dataset.read<float>(), part(values, info).begin());
    }
  }

  void expect_arrays(const std::vector<ParameterInfo>& layout, std::span<float> values) {
    for (const ParameterInfo& info : layout) {
      expect_near(part(values, info), file_.dataset("final/dense/" + info.name).read<double>(),
                  kWeightTolerance, info.name);
    }
  }

  const h5::Group& file_;
  ModelShape shape_;
  std::vector<store::Table> tables_;
  std::vector<config::Pooling> pooling_;
  std::unique_ptr<DenseModel> model_;
  std::unique_ptr<DenseOptimizer> optimizer_;
};

/// The files of the golden folder that hold a model; they say all there is to know of it.
std::vector<std::filesystem::path> model_files() {
  std::vector<std::filesystem::path> files = support::golden_files();
  std::erase_if(files,
                [](const auto& path) { return !h5::File::open(path).has_attribute("model"); });
  return files;
}

class GoldenTest : public ::testing::TestWithParam<std::filesystem::path> {};

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenTest);

TEST_P(GoldenTest, TrainsToTheSameNumbers) {
  const h5::File file = h5::File::open(GetParam());
  const auto model = model_config(file);
  if (!model) {
    GTEST_SKIP() << "the model " << file.attribute<std::string>("model") << " is not built yet";
  }
  config::TableConfig table;
  config::DenseOptimizerConfig optimizer;
  if (!read_optimizer(file, "sparse_optimizer", table, &config::TableConfig::optimizer) ||
      !read_optimizer(file, "dense_optimizer", optimizer, &config::DenseOptimizerConfig::kind)) {
    GTEST_SKIP() << "an optimizer or one of its settings is not built yet";
  }

  GoldenModel golden(file, *model, table, optimizer);
  const std::size_t steps = file.group("steps").children().size();
  ASSERT_GT(steps, 0U);
  for (std::size_t step = 1; step <= steps; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    golden.train_step(static_cast<Step>(step));
    if (HasFatalFailure()) return;
  }
  golden.expect_final();
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenTest, ::testing::ValuesIn(model_files()),
                         [](const auto& test) { return test.param.stem().string(); });

TEST(Golden, FolderIsThere) {
  if (!support::golden_folder()) {
    GTEST_SKIP() << "no reference numbers: set SATRAP_GOLDEN to the folder that holds them";
  }
  EXPECT_FALSE(model_files().empty());
}

}  // namespace
}  // namespace satrap::nn
