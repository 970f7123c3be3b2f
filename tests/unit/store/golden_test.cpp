#include <gtest/gtest.h>

#include <cmath>

#include "h5/file.hpp"
#include "support/golden.hpp"
#include "unit/store/support.hpp"

namespace satrap::store {
namespace {

/// The optimizer of a `kind`, if the store has it.
std::optional<config::Optimizer> optimizer_of(const std::string& kind) {
  using config::Optimizer;
  if (kind == "sgd") return Optimizer::sgd;
  if (kind == "adagrad") return Optimizer::adagrad;
  if (kind == "rowwise_adagrad") return Optimizer::rowwise_adagrad;
  if (kind == "adam") return Optimizer::adam;
  return std::nullopt;
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
    } else {
      ADD_FAILURE() << "attribute " << name << " is not known to this test";
    }
  }
  return config;
}

/// Steps one row of a table through the gradients and compares it with `after` at each step.
void check(const h5::Group& group, config::Optimizer optimizer) {
  const auto init = group.dataset("init").read<float>();
  const auto gradients = group.dataset("gradients").read<float>();
  const auto after = group.dataset("after").read<double>();
  const std::size_t dim = init.size();
  ASSERT_EQ(gradients.size() % dim, 0U);
  ASSERT_EQ(gradients.size(), after.size());

  Table table(TableId{0}, config_of(group, optimizer, static_cast<std::int64_t>(dim)), 1);
  const auto id = feature_ids({123456789});
  lookup(table, id);
  RowBlock block = export_all(table);
  block.weights = init;
  table.import_rows(block);
  for (std::size_t step = 0; step < gradients.size() / dim; ++step) {
    table.apply(id, &gradients[step * dim], {.step = static_cast<Step>(step) + 1});
    const auto row = lookup(table, id);
    for (std::size_t i = 0; i < dim; ++i) {
      EXPECT_NEAR(row[i], after[step * dim + i], 1e-5) << "step " << step + 1 << " weight " << i;
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
    const h5::Group group = file.group(name);
    const auto kind = group.attribute<std::string>("kind");
    const auto optimizer = optimizer_of(kind);
    if (!optimizer) {
      std::cout << "[  SKIPPED ] " << name << ": the store has no optimizer " << kind << '\n';
      continue;
    }
    check(group, *optimizer);
    ++checked;
  }
  EXPECT_GT(checked, 0);
}

}  // namespace
}  // namespace satrap::store
