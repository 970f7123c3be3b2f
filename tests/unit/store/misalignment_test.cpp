// The trap of asynchronous training: gradients come back for ids of which some have no rows any
// more, or never had. Each gradient must change its own row and no other.

#include <gtest/gtest.h>

#include <map>

#include "store/row_ops.hpp"
#include "unit/store/support.hpp"

namespace satrap::store {
namespace {

using config::Eviction;
using config::Storage;
using config::TableConfig;

constexpr TableId kTable{3};
constexpr std::uint64_t kSeed = 5;

/// The parts of each row, without its id, as RowOps has them.
std::map<FeatureId, std::vector<std::byte>> rows_of(const Table& table) {
  const RowBlock block = export_all(table);
  const RowLayout& layout = table.layout();
  std::map<FeatureId, std::vector<std::byte>> rows;
  for (std::size_t i = 0; i < block.size(); ++i) {
    auto& row = rows[block.ids[i]];
    row.resize(layout.bytes);
    const auto put = [&](std::size_t at, const auto& values, std::size_t bytes) {
      if (bytes == 0) return;
      std::memcpy(&row[at], std::as_bytes(std::span(values)).data() + i * bytes, bytes);
    };
    put(layout.updates, block.updates, layout.has_updates ? sizeof(std::uint32_t) : 0);
    put(layout.scale, block.scales, layout.has_scale ? sizeof(float) : 0);
    put(layout.weights, block.weights, layout.weight_bytes);
    put(layout.state, block.state, layout.state_bytes);
  }
  return rows;
}

class Misalignment : public testing::TestWithParam<Storage> {
 protected:
  /// Looks up ids 0 to 99, 80 to 179, and others at a later step. Gradients for all of 0 to 199
  /// then change the rows of those that still have them; at least `fewest_lost` have none.
  template <class Set>
  void check(Set&& set, std::size_t fewest_lost) {
    TableConfig config = table_config(7, config::Optimizer::adam, 0);
    config.storage = GetParam();
    set(config);
    const RowOps ops(kTable, config, kSeed);
    Table table(kTable, config, kSeed);
    lookup(table, id_range(0, 100), 1);
    lookup(table, id_range(80, 100), 2);
    lookup(table, id_range(300, 60), 6);

    const auto before = rows_of(table);
    // In an order of their own, so that places in the batch mean nothing.
    auto ids = id_range(0, 200);
    RandomSequence random(kSeed, RandomStream::shuffle);
    for (std::size_t i = 0; i < ids.size(); ++i) std::swap(ids[i], ids[random.below(i + 1)]);
    const auto gradients = random_floats(random, ids.size() * 7);
    const UpdateContext context{.step = 7};
    table.apply(ids, gradients.data(), context);

    auto expected = before;
    std::size_t lost = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto row = expected.find(ids[i]);
      if (row == expected.end()) {
        ++lost;
        continue;
      }
      ops.update(ops.hyper(context), ids[i], &gradients[7 * i], row->second.data());
      EXPECT_NE(row->second, before.at(ids[i]));
    }
    EXPECT_EQ(rows_of(table), expected);
    EXPECT_GE(lost, fewest_lost);
    EXPECT_LT(lost, ids.size());  // or there was nothing to confuse
    EXPECT_EQ(table.statistics().gradients_dropped, static_cast<std::int64_t>(lost));
  }
};

TEST_P(Misalignment, SomeEvicted) {
  check([](TableConfig& c) { c.capacity = 120; }, 100);
}
TEST_P(Misalignment, SomeLeastUsedEvicted) {
  check(
      [](TableConfig& c) {
        c.capacity = 120;
        c.eviction = Eviction::lfu;
      },
      100);
}
TEST_P(Misalignment, SomeExpired) {
  check(
      [](TableConfig& c) {
        c.eviction = Eviction::ttl;
        c.ttl = 5;
      },
      80);
}
TEST_P(Misalignment, SomeNotYetAdmitted) {
  check([](TableConfig& c) { c.admit_after = 2; }, 150);
}
TEST_P(Misalignment, SomeNeverAdmitted) {
  check([](TableConfig& c) { c.admit_share = 0.5; }, 50);
}

INSTANTIATE_TEST_SUITE_P(Storages, Misalignment,
                         testing::Values(Storage::fp32, Storage::fp16, Storage::bf16,
                                         Storage::int8),
                         [](const auto& tested) { return std::string(name_of(tested.param)); });

}  // namespace
}  // namespace satrap::store
