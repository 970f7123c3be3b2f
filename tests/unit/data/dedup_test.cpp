#include "data/dedup.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "data/hash_stack.hpp"
#include "unit/data/support.hpp"

namespace satrap::data {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

/// Three slots; the first and the last share table "shared", the middle one has "own".
config::Config three_slots() {
  config::Config config;
  config.slots = {{.name = "a", .table = "shared"},
                  {.name = "b", .table = "own"},
                  {.name = "c", .table = "shared"}};
  config.tables.resize(2);
  config.tables[0].name = "shared";
  config.tables[1].name = "own";
  return config;
}

SlotIds slot_of(const std::vector<std::vector<std::uint64_t>>& samples) {
  SlotIds out;
  out.offsets = {0};
  for (const auto& ids : samples) {
    for (const std::uint64_t id : ids) out.ids.push_back(FeatureId{id});
    out.offsets.push_back(static_cast<std::uint32_t>(out.ids.size()));
  }
  return out;
}

SampleBatch random_batch(std::size_t n, std::uint64_t distinct, std::mt19937_64& random) {
  SampleBatch batch;
  batch.labels.assign(n, 1.0f);
  batch.dense.assign(2 * n, 0.5f);
  for (int s = 0; s < 3; ++s) {
    std::vector<std::vector<std::uint64_t>> samples(n);
    for (auto& ids : samples) {
      ids.resize(random() % 4);  // empty bags too
      for (auto& id : ids) id = (random() % distinct) * 0x9e3779b97f4a7c15ULL;
    }
    batch.slots.push_back(slot_of(samples));
  }
  return batch;
}

/// Checks everything that IdBatch promises against the samples it was made of.
void expect_matches(const SampleBatch& in, const IdBatch& out, const config::Config& config,
                    const RowPlacement& placement) {
  EXPECT_EQ(out.labels, in.labels);
  EXPECT_EQ(out.dense, in.dense);
  ASSERT_EQ(out.slots.size(), in.slots.size());
  std::vector<std::vector<FeatureId>> first_seen(config.tables.size());
  for (std::size_t s = 0; s < in.slots.size(); ++s) {
    const std::size_t t = config.table_of_slot(s);
    ASSERT_EQ(out.slots[s].offsets, in.slots[s].offsets);
    ASSERT_EQ(out.slots[s].indices.size(), in.slots[s].ids.size());
    for (std::size_t i = 0; i < in.slots[s].ids.size(); ++i) {
      ASSERT_EQ(out.tables[t].unique.at(out.slots[s].indices[i]), in.slots[s].ids[i]);
      auto& seen = first_seen[t];
      const FeatureId id = in.slots[s].ids[i];
      if (std::find(seen.begin(), seen.end(), id) == seen.end()) seen.push_back(id);
    }
  }
  for (std::size_t t = 0; t < config.tables.size(); ++t) {
    const auto server = [&](FeatureId id) { return placement.server_of(TableId(t), id); };
    std::stable_sort(first_seen[t].begin(), first_seen[t].end(),
                     [&](FeatureId a, FeatureId b) { return server(a) < server(b); });
    EXPECT_EQ(out.tables[t].unique, first_seen[t]);
    const auto& begin = out.tables[t].server_begin;
    ASSERT_EQ(begin.size(), static_cast<std::size_t>(placement.servers()) + 1);
    EXPECT_EQ(begin.front(), 0U);
    EXPECT_EQ(begin.back(), out.tables[t].unique.size());
    for (std::size_t k = 0; k + 1 < begin.size(); ++k) {
      for (auto i = begin[k]; i < begin[k + 1]; ++i) {
        EXPECT_EQ(raw(server(out.tables[t].unique[i])), static_cast<int>(k));
      }
    }
  }
}

/// Table "shared" is a hash stack of r ranges of `buckets` rows.
config::Config with_stack(std::int64_t r, std::int64_t buckets) {
  config::Config config = three_slots();
  config.tables[0].hash_rows = r;
  config.tables[0].hash_buckets = buckets;
  return config;
}

/// The same samples with the rows of each id of the stack's slots in its place: what a table
/// without a stack would have to be given.
SampleBatch hashed(const SampleBatch& in, const config::Config& config) {
  SampleBatch out = in;
  for (std::size_t s = 0; s < in.slots.size(); ++s) {
    const std::size_t t = config.table_of_slot(s);
    const auto& table = config.tables[t];
    if (table.hash_rows == 0) continue;
    const HashStack stack(TableId(t), table);
    SlotIds& slot = out.slots[s];
    slot.ids.clear();
    for (const FeatureId id : in.slots[s].ids) {
      stack.for_each_row(id, [&](FeatureId row) { slot.ids.push_back(row); });
    }
    for (auto& offset : slot.offsets) offset *= static_cast<std::uint32_t>(table.hash_rows);
  }
  return out;
}

TEST(Deduplicator, SmallBatchByHand) {
  SampleBatch batch;
  batch.labels = {1, 0};
  batch.slots = {slot_of({{7, 8}, {7}}), slot_of({{7}, {}}), slot_of({{9, 8}, {9}})};
  Deduplicator deduplicator(three_slots(), RowPlacement(64, 1));
  IdBatch out;
  deduplicator.run(std::move(batch), out);
  EXPECT_THAT(out.tables[0].unique, ElementsAre(FeatureId{7}, FeatureId{8}, FeatureId{9}));
  EXPECT_THAT(out.tables[0].server_begin, ElementsAre(0U, 3U));
  EXPECT_THAT(out.tables[1].unique, ElementsAre(FeatureId{7}));
  EXPECT_THAT(out.slots[0].indices, ElementsAre(0U, 1U, 0U));
  EXPECT_THAT(out.slots[1].indices, ElementsAre(0U));
  EXPECT_THAT(out.slots[1].offsets, ElementsAre(0U, 1U, 1U));
  EXPECT_THAT(out.slots[2].indices, ElementsAre(2U, 1U, 2U));
}

TEST(Deduplicator, RandomBatchesOfManySizesInOneDeduplicator) {
  const config::Config config = three_slots();
  for (const int servers : {1, 3, 16}) {
    const RowPlacement placement(4096, servers);
    Deduplicator deduplicator(config, placement);
    IdBatch out;  // reused, as the reader does
    std::mt19937_64 random(17);
    for (int i = 0; i < 60; ++i) {
      const SampleBatch batch = random_batch(random() % 300, 1 + random() % 400, random);
      SampleBatch copy = batch;
      deduplicator.run(std::move(copy), out);
      expect_matches(batch, out, config, placement);
    }
  }
}

TEST(Deduplicator, EveryBitPatternIsAnId) {
  SampleBatch batch;
  const std::vector<std::uint64_t> odd = {0, ~0ULL, 1ULL << 63, (1ULL << 63) - 1, 1, ~0ULL, 0};
  batch.labels = {1};
  batch.slots = {slot_of({odd}), slot_of({odd}), slot_of({odd})};
  const SampleBatch in = batch;
  const RowPlacement placement(4096, 2);
  Deduplicator deduplicator(three_slots(), placement);
  IdBatch out;
  deduplicator.run(std::move(batch), out);
  expect_matches(in, out, three_slots(), placement);
  EXPECT_THAT(out.tables[0].unique, SizeIs(5));
}

TEST(Deduplicator, PutsTheRowsOfAHashStackInThePlaceOfIds) {
  std::mt19937_64 random(5);
  for (const auto& [r, buckets] : {std::pair{1, 1000}, {2, 1}, {2, 50}, {3, 1'000'000}}) {
    const config::Config config = with_stack(r, buckets);
    for (const int servers : {1, 3}) {
      const RowPlacement placement(4096, servers);
      Deduplicator deduplicator(config, placement);
      IdBatch out;
      for (int i = 0; i < 20; ++i) {
        const SampleBatch batch = random_batch(random() % 300, 1 + random() % 400, random);
        SampleBatch copy = batch;
        deduplicator.run(std::move(copy), out);
        expect_matches(hashed(batch, config), out, config, placement);
        EXPECT_LE(out.tables[0].unique.size(), static_cast<std::size_t>(r * buckets));
      }
    }
  }
}

TEST(Deduplicator, SlotsOfATableShareTheRowsOfAHashStack) {
  SampleBatch batch;
  batch.labels = {1, 0};
  batch.slots = {slot_of({{7, 7}, {}}), slot_of({{7}, {7}}), slot_of({{7}, {7}})};
  Deduplicator deduplicator(with_stack(2, 1000), RowPlacement(64, 1));
  IdBatch out;
  deduplicator.run(std::move(batch), out);
  ASSERT_THAT(out.tables[0].unique, SizeIs(2));
  EXPECT_LT(raw(out.tables[0].unique[0]), 1000U);
  EXPECT_GE(raw(out.tables[0].unique[1]), 1000U);
  EXPECT_LT(raw(out.tables[0].unique[1]), 2000U);
  EXPECT_THAT(out.slots[0].indices, ElementsAre(0U, 1U, 0U, 1U));
  EXPECT_THAT(out.slots[0].offsets, ElementsAre(0U, 4U, 4U));
  EXPECT_THAT(out.slots[2].indices, ElementsAre(0U, 1U, 0U, 1U));
  EXPECT_THAT(out.slots[2].offsets, ElementsAre(0U, 2U, 4U));
  EXPECT_THAT(out.tables[1].unique, ElementsAre(FeatureId{7}));
  EXPECT_THAT(out.slots[1].offsets, ElementsAre(0U, 1U, 2U));
}

TEST(Deduplicator, BatchOfNoSamples) {
  SampleBatch batch;
  batch.slots = {slot_of({}), slot_of({}), slot_of({})};
  Deduplicator deduplicator(three_slots(), RowPlacement(4096, 3));
  IdBatch out;
  deduplicator.run(std::move(batch), out);
  EXPECT_EQ(out.size(), 0);
  EXPECT_THAT(out.tables[0].server_begin, ElementsAre(0U, 0U, 0U, 0U));
  EXPECT_THAT(out.slots[2].offsets, ElementsAre(0U));
}

}  // namespace
}  // namespace satrap::data
