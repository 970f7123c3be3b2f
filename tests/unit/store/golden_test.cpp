#include <gtest/gtest.h>

#include <cmath>

#include "h5/file.hpp"
#include "support/golden.hpp"
#include "unit/store/one_row.hpp"
#include "unit/store/support.hpp"

namespace satrap::store {
namespace {

config::Optimizer optimizer_of(const std::string& kind) {
  for (const auto& spelling : config::Spellings<config::Optimizer>::all) {
    if (spelling.text == kind) return spelling.value;
  }
  ADD_FAILURE() << "the store has no optimizer " << kind;
  return {};
}

/// Takes the hyper-parameters from the attributes; an attribute that is not known fails the test.
config::TableConfig config_of(const h5::Group& group, config::Optimizer optimizer,
                              std::int64_t dim) {
  config::TableConfig config = table_config(dim, optimizer);
  for (const std::string& name : group.attributes()) {
    if (name == "kind") continue;
    if (name == "bias_correction") {
      const auto value = group.attribute<std::string>(name);
      config.bias_correction =
          value == "row" ? config::BiasCorrection::row : config::BiasCorrection::global;
      continue;
    }
    const auto value = group.attribute<double>(name);
    if (name == "lr") {
      config.lr = value;
    } else if (name == "eps") {
      config.eps = value;
    } else if (name == "momentum") {
      config.momentum = value;
    } else if (name == "beta1") {
      config.beta1 = value;
    } else if (name == "beta2") {
      config.beta2 = value;
    } else if (name == "initial_accumulator") {
      config.initial_accumulator = value;
    } else if (name == "weight_decay") {
      config.weight_decay = value;
    } else if (name == "beta") {
      config.beta = value;
    } else if (name == "l1") {
      config.l1 = value;
    } else if (name == "l2") {
      config.l2 = value;
    } else {
      ADD_FAILURE() << "attribute " << name << " is not known to this test";
    }
  }
  return config;
}

/// Steps one row, and one of a table, through the gradients and compares them with `after` at each
/// step.
void check(const h5::Group& group) {
  const auto optimizer = optimizer_of(group.attribute<std::string>("kind"));
  const auto init = group.dataset("init").read<float>();
  const auto gradients = group.dataset("gradients").read<float>();
  const auto after = group.dataset("after").read<double>();
  const std::size_t dim = init.size();
  ASSERT_EQ(gradients.size() % dim, 0U);
  ASSERT_EQ(gradients.size(), after.size());

  const auto config = config_of(group, optimizer, static_cast<std::int64_t>(dim));
  OneRow alone(config);
  alone.set_weights(init);
  Table table(TableId{0}, config, 1);
  const auto id = feature_ids({123456789});
  lookup(table, id);
  RowBlock block = export_all(table);
  block.weights = column(init);
  table.import_rows(block);
  for (std::size_t step = 0; step < gradients.size() / dim; ++step) {
    const float* gradient = &gradients[step * dim];
    alone.update(gradient, static_cast<Step>(step) + 1);
    table.apply(id, gradient, {.step = static_cast<Step>(step) + 1});
    const auto weights = alone.weights();
    EXPECT_EQ(peek(table, id), weights);
    for (std::size_t i = 0; i < dim; ++i) {
      EXPECT_NEAR(weights[i], after[step * dim + i], 1e-5)
          << "step " << step + 1 << " weight " << i;
    }
  }
}

TEST(Golden, SparseOptimizers) {
  const auto folder = support::golden_folder();
  const auto path = folder ? *folder / "sparse_optimizers.h5" : std::filesystem::path();
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no folder of golden values";
  const h5::File file = h5::File::open(path);
  int checked = 0;
  for (const std::string& name : file.children()) {
    SCOPED_TRACE(name);
    check(file.group(name));
    ++checked;
  }
  EXPECT_GE(checked, 6);
}

}  // namespace
}  // namespace satrap::store
