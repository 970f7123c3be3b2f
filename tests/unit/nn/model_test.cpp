#include "nn/model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "nn/loss.hpp"
#include "reference.hpp"

namespace satrap::nn {
namespace {

using reference::expect_near;
using reference::Matrix;
using reference::random_floats;
using reference::Values;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

config::ModelConfig dlrm(std::vector<std::int64_t> bottom, std::vector<std::int64_t> top) {
  config::ModelConfig config;
  config.kind = config::Model::dlrm;
  config.bottom = std::move(bottom);
  config.top = std::move(top);
  return config;
}

config::ModelConfig ffnn(bool batch_norm, config::Activation activation) {
  config::ModelConfig config;
  config.kind = config::Model::ffnn;
  config.sparse_width = 6;
  config.dense_width = 3;
  config.top = {7, 4};
  config.batch_norm = batch_norm;
  config.activation = activation;
  return config;
}

std::vector<std::string> names(const std::vector<ParameterInfo>& layout) {
  std::vector<std::string> result;
  for (const ParameterInfo& info : layout) result.push_back(info.name);
  return result;
}

struct ModelCase {
  std::string name;
  config::ModelConfig config;
  ModelShape shape;
};

void PrintTo(const ModelCase& model, std::ostream* out) {
  *out << model.name;
}

class ModelTest : public ::testing::TestWithParam<ModelCase> {
 protected:
  std::unique_ptr<DenseModel> model_ = make_model(GetParam().config, GetParam().shape, 17);

  std::size_t dense_size(std::size_t batch) const {
    return batch * static_cast<std::size_t>(GetParam().shape.dense_features);
  }
  std::size_t pooled_size(std::size_t batch) const {
    return batch * static_cast<std::size_t>(GetParam().shape.pooled_width());
  }
};

TEST_P(ModelTest, AgreesWithDifferencesOfTheReference) {
  constexpr std::size_t kBatch = 6;
  const ModelShape& shape = GetParam().shape;
  const auto dim = static_cast<std::size_t>(shape.slot_dims.front());
  const std::vector<float> dense = random_floats(dense_size(kBatch), 1);
  const std::vector<float> pooled = random_floats(pooled_size(kBatch), 2);
  const std::vector<float> labels = {1, 0, 0, 1, 0, 1};
  Matrix rd = reference::matrix(kBatch, dense.size() / kBatch, dense);
  Matrix rp = reference::matrix(kBatch, pooled.size() / kBatch, pooled);
  reference::Arrays arrays = reference::arrays_of(*model_);
  const auto whole = [&] { return reference::logits(GetParam().config, dim, arrays, rd, rp); };
  const auto loss = [&] { return reference::mean_bce(whole(), labels); };

  const auto logits = model_->forward(kBatch, dense.data(), pooled.data(), true);
  expect_near(logits, whole(), 1e-5, "logits");
  std::vector<float> d_logits(kBatch);
  EXPECT_NEAR(
      bce_with_logits(kBatch, logits.data(), labels.data(), 1.0f / kBatch, d_logits.data()) /
          kBatch,
      loss(), 1e-6);
  const auto d_pooled = model_->backward(d_logits.data(), {});

  expect_near(d_pooled, reference::differences(rp.values, loss), 1e-6, "pooled");
  for (const ParameterInfo& info : model_->parameter_info()) {
    expect_near(model_->gradients().subspan(static_cast<std::size_t>(info.offset),
                                            static_cast<std::size_t>(info.size)),
                reference::differences(arrays.at(info.name), loss), 2e-6, info.name);
  }
}

TEST_P(ModelTest, TellsFallingOffsetsOfFinishedLayers) {
  const std::vector<float> dense = random_floats(dense_size(4), 1);
  const std::vector<float> pooled = random_floats(pooled_size(4), 2);
  const std::vector<float> d_logits = random_floats(4, 3);
  model_->forward(4, dense.data(), pooled.data(), true);
  model_->backward(d_logits.data(), {});
  const std::vector<float> expected(model_->gradients().begin(), model_->gradients().end());

  std::ranges::fill(model_->gradients(), 99.0f);
  std::vector<std::int64_t> offsets;
  model_->backward(d_logits.data(), [&](std::int64_t offset) {
    offsets.push_back(offset);
    for (auto i = static_cast<std::size_t>(offset); i < expected.size(); ++i) {
      ASSERT_EQ(model_->gradients()[i], expected[i]) << i << " was not final at " << offset;
    }
  });

  ASSERT_GT(offsets.size(), 1U);
  EXPECT_TRUE(std::ranges::is_sorted(offsets, std::greater_equal<>()));
  EXPECT_EQ(offsets.back(), 0);
}

TEST_P(ModelTest, TakesABatchOfNothing) {
  const std::vector<float> state(model_->state().begin(), model_->state().end());
  std::ranges::fill(model_->gradients(), 99.0f);

  EXPECT_TRUE(model_->forward(0, nullptr, nullptr, true).empty());
  std::vector<std::int64_t> offsets;
  const auto d_pooled =
      model_->backward(nullptr, [&](std::int64_t offset) { offsets.push_back(offset); });

  EXPECT_TRUE(d_pooled.empty());
  EXPECT_THAT(model_->gradients(), Each(0.0f));
  EXPECT_TRUE(std::ranges::equal(model_->state(), state));
  EXPECT_EQ(offsets.back(), 0);
}

TEST_P(ModelTest, TakesBatchesOfChangingSize) {
  const std::vector<float> dense = random_floats(dense_size(20), 1);
  const std::vector<float> pooled = random_floats(pooled_size(20), 2);
  const auto all = model_->forward(20, dense.data(), pooled.data(), false);
  const Values expected(all.begin(), all.end());

  for (const std::size_t batch : {1, 20, 7, 1, 19}) {
    const auto logits =
        model_->forward(static_cast<std::int64_t>(batch), dense.data(), pooled.data(), false);
    expect_near(logits, Values(expected.begin(), expected.begin() + std::ptrdiff_t(batch)), 1e-5,
                "logits");
  }
}

TEST_P(ModelTest, RepeatsItselfBitForBit) {
  const std::vector<float> dense = random_floats(dense_size(9), 1);
  const std::vector<float> pooled = random_floats(pooled_size(9), 2);
  const std::vector<float> d_logits = random_floats(9, 3);
  const auto other = make_model(GetParam().config, GetParam().shape, 17);
  ASSERT_TRUE(std::ranges::equal(model_->parameters(), other->parameters()));

  for (int step = 0; step < 2; ++step) {
    EXPECT_TRUE(std::ranges::equal(model_->forward(9, dense.data(), pooled.data(), true),
                                   other->forward(9, dense.data(), pooled.data(), true)));
    EXPECT_TRUE(std::ranges::equal(model_->backward(d_logits.data(), {}),
                                   other->backward(d_logits.data(), {})));
    EXPECT_TRUE(std::ranges::equal(model_->gradients(), other->gradients()));
    EXPECT_TRUE(std::ranges::equal(model_->state(), other->state()));
  }
}

TEST_P(ModelTest, LaysItsArraysOutWithoutGaps) {
  std::int64_t end = 0;
  std::set<std::string> seen;
  for (const ParameterInfo& info : model_->parameter_info()) {
    EXPECT_EQ(info.offset, end) << info.name;
    EXPECT_TRUE(seen.insert(info.name).second) << info.name;
    end += info.size;
  }
  EXPECT_EQ(static_cast<std::size_t>(end), model_->parameters().size());
  EXPECT_EQ(model_->parameters().size(), model_->gradients().size());
}

INSTANTIATE_TEST_SUITE_P(
    Models, ModelTest,
    ::testing::Values(
        ModelCase{"dlrm", dlrm({9}, {11, 5}), {5, {8, 8, 8, 8}}},
        ModelCase{"dlrm_odd_sizes", dlrm({10, 6}, {3}), {1, std::vector<std::int64_t>(9, 3)}},
        ModelCase{"dlrm_without_hidden_layers", dlrm({}, {}), {4, {5, 5}}},
        ModelCase{"ffnn", ffnn(false, config::Activation::relu), {5, {4, 8, 3}}},
        ModelCase{"ffnn_batch_norm", ffnn(true, config::Activation::relu), {5, {4, 8, 3}}},
        ModelCase{"ffnn_without_activation", ffnn(true, config::Activation::none), {5, {4, 8}}}),
    [](const auto& test) { return test.param.name; });

void set(DenseModel& model, const std::string& name, const std::vector<float>& values) {
  for (const ParameterInfo& info : model.parameter_info()) {
    if (info.name == name) std::ranges::copy(values, model.parameters().begin() + info.offset);
  }
}

// Worked out with NumPy in float64 from the formulas of docs/model.md.
TEST(Dlrm, GivesTheNumbersOfAWorkedExample) {
  const auto model = make_model(dlrm({}, {}), {2, {2, 2}}, 1);
  set(*model, "bottom/0/weight", {0.5f, -0.25f, 1.0f, 0.75f});
  set(*model, "bottom/0/bias", {0.1f, -0.2f});
  set(*model, "top/0/weight", {0.3f, -0.6f, 0.2f, 0.4f, -0.1f});
  set(*model, "top/0/bias", {0.05f});
  const std::vector<float> dense = {1, 2, 1, -1};
  const std::vector<float> pooled = {0.5f, -1, 2, 0.25f, 1, 1, -0.5f, 0.75f};
  const std::vector<float> labels = {1, 0};

  const auto logits = model->forward(2, dense.data(), pooled.data(), true);
  std::vector<float> d_logits(2);
  const double loss = bce_with_logits(2, logits.data(), labels.data(), 0.5f, d_logits.data()) / 2;
  const auto d_pooled = model->backward(d_logits.data(), {});

  expect_near(logits, {-1.515, 0.275}, 1e-6, "logits");
  EXPECT_NEAR(loss, 1.276882144, 1e-6);
  expect_near(d_pooled,
              {0.073782092, -0.178306723, 0.004099005, -0.418098523, 0.062515198, -0.018470399,
               0.068198398, -0.022732799},
              1e-6, "pooled");
  EXPECT_THAT(names(model->parameter_info()),
              ElementsAre("bottom/0/weight", "bottom/0/bias", "top/0/weight", "top/0/bias"));
  expect_near(model->gradients(),
              {-0.406632617, -1.069009227, 0.25851436, 0.602276717, -0.406632617, 0.25851436,
               0.200545942, -0.928563179, 1.178020145, -0.427784894, -0.236385386, -0.125740521},
              1e-6, "gradients");
}

TEST(Dlrm, CountsItsProducts) {
  const auto model =
      make_model(dlrm({512, 256, 64}, {512, 256}), {13, std::vector<std::int64_t>(26, 16)}, 1);

  // The first layer has no gradient to pass on.
  const double first = 13.0 * 512;
  const double others = 512.0 * 256 + 256 * 64 + 64 * 16 + 367 * 512 + 512 * 256 + 256;
  EXPECT_EQ(model->matmul_flops_per_sample(), 2 * (2 * first + 3 * others));
  EXPECT_EQ(model->linear_shapes().size(), 7U);
}

TEST(Ffnn, NamesItsArraysAndState) {
  const auto model = make_model(ffnn(true, config::Activation::relu), {5, {4, 8, 3}}, 1);

  EXPECT_THAT(names(model->parameter_info()),
              ElementsAre("sparse_in/0/weight", "sparse_in/0/bias", "bn_sparse/scale",
                          "bn_sparse/shift", "dense_in/0/weight", "dense_in/0/bias",
                          "bn_dense/scale", "bn_dense/shift", "top/0/weight", "top/0/bias",
                          "top/1/weight", "top/1/bias", "top/2/weight", "top/2/bias"));
  EXPECT_THAT(names(model->state_info()),
              ElementsAre("bn_sparse/running_mean", "bn_sparse/running_var",
                          "bn_dense/running_mean", "bn_dense/running_var"));
  EXPECT_EQ(model->parameter_info()[0].shape, (std::vector<std::int64_t>{6, 15}));
  EXPECT_EQ(model->state()[0], 0.0f);
  EXPECT_EQ(model->state()[6], 1.0f);
}

TEST(Ffnn, LeavesOutTheBranchOfAnInputThatIsMissing) {
  const auto config = ffnn(true, config::Activation::relu);
  const std::vector<float> input = random_floats(15, 1);
  const std::vector<float> d_logits = {1, -1, 1};

  const auto only_dense = make_model(config, {5, {}}, 1);
  EXPECT_EQ(only_dense->forward(3, input.data(), nullptr, true).size(), 3U);
  EXPECT_TRUE(only_dense->backward(d_logits.data(), {}).empty());
  EXPECT_EQ(only_dense->parameter_info().front().name, "dense_in/0/weight");

  const auto only_sparse = make_model(config, {0, {5}}, 1);
  EXPECT_EQ(only_sparse->forward(3, nullptr, input.data(), true).size(), 3U);
  EXPECT_EQ(only_sparse->backward(d_logits.data(), {}).size(), 15U);
}

TEST(MakeModel, DrawsWeightsFromSeedAndName) {
  const auto first = make_model(dlrm({64}, {32}), {13, {16, 16}}, 1);
  const auto wider = make_model(dlrm({64}, {32, 8}), {13, {16, 16}}, 1);
  const auto other = make_model(dlrm({64}, {32}), {13, {16, 16}}, 2);

  // Layers that both have start the same, whatever the rest of the model is.
  const ParameterInfo& top = first->parameter_info()[4];
  ASSERT_EQ(top.name, "top/0/weight");
  const auto begin = [&](DenseModel& model) { return model.parameters().begin() + top.offset; };
  EXPECT_TRUE(std::equal(begin(*first), begin(*first) + top.size, begin(*wider)));
  EXPECT_FALSE(std::equal(begin(*first), begin(*first) + top.size, begin(*other)));
}

TEST(MakeModel, DrawsWeightsUniformlyWithinOneByRootOfTheInputs) {
  const auto model = make_model(dlrm({400}, {}), {25, {16}}, 3);
  const auto weights = model->parameters().first(400 * 25);
  const auto biases = model->parameters().subspan(400 * 25, 400);

  double squares = 0.0;
  for (const float w : weights) squares += static_cast<double>(w) * static_cast<double>(w);
  EXPECT_LE(*std::ranges::max_element(weights), 0.2f);
  EXPECT_GE(*std::ranges::min_element(weights), -0.2f);
  EXPECT_NEAR(squares / 10000, 0.04 / 3, 0.0005);
  EXPECT_GT(*std::ranges::max_element(biases), 0.19f);
  EXPECT_LT(*std::ranges::min_element(biases), -0.19f);
}

TEST(MakeModel, RefusesShapesThatDoNotFit) {
  const auto refusal = [](const config::ModelConfig& config, const ModelShape& shape) {
    try {
      make_model(config, shape, 1);
      return std::string("accepted");
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
  };

  EXPECT_THAT(refusal(dlrm({4}, {4}), {5, {8, 8, 16}}), HasSubstr("dim 8 and dim 16"));
  EXPECT_THAT(refusal(dlrm({4}, {4}), {0, {8, 8}}), HasSubstr("0 dense features"));
  EXPECT_THAT(refusal(dlrm({4}, {4}), {5, {}}), HasSubstr("0 slots"));
  EXPECT_THAT(refusal(dlrm({0}, {4}), {5, {8}}), HasSubstr("model.bottom"));
  EXPECT_THAT(refusal(dlrm({4}, {-1}), {5, {8}}), HasSubstr("model.top"));
  EXPECT_THAT(refusal(ffnn(true, config::Activation::relu), {0, {}}),
              HasSubstr("nothing to learn"));
}

}  // namespace
}  // namespace satrap::nn
