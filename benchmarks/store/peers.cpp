#include <cmath>

#include "core/error.hpp"
#include "figures.hpp"
#include "persia_map.hpp"
#include "rate.hpp"

namespace satrap::bench {
namespace {

/// A peer that does something else would be no peer.
void check_equal(const std::vector<float>& ours, const std::vector<float>& theirs) {
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (std::abs(ours[i] - theirs[i]) <= 1e-5f) continue;
    throw InternalError(fmt::format("weight {} of a batch is {} in the table and {} in the map", i,
                                    ours[i], theirs[i]));
  }
}

}  // namespace

void compare_peers(const Options& o) {
  // The map takes half as much again, and both have to fit.
  const auto config = table_config(o.dim);
  const std::int64_t rows = rows_of(config, o.bytes / 2);
  constexpr std::uint64_t kSeed = 1;
  store::Table table(TableId{0}, config, kSeed);
  fill(table, rows);
  PersiaMap map(config, static_cast<std::size_t>(rows), kSeed);
  Batches b(rows, o.dim);
  for (std::int64_t id = 0; id < rows; ++id) {
    const FeatureId one{static_cast<std::uint64_t>(id)};
    map.lookup({&one, 1}, b.values.data());
  }
  fmt::print("# {} rows in both\n", rows);

  std::vector<float> theirs(b.values.size());
  const auto lookup = [&] { table.lookup(b.ids, 1, b.values.data()); };
  const auto their_lookup = [&] { map.lookup(b.ids, theirs.data()); };
  compare(b, o.seconds, "store-lookup", lookup, "persia-map-lookup", their_lookup, 5);
  compare(
      b, o.seconds, "store-update", [&] { table.apply(b.ids, b.gradients.data(), {}); },
      "persia-map-update", [&] { map.apply(b.ids, b.gradients.data()); }, 5);
  lookup();
  their_lookup();
  check_equal(b.values, theirs);
}

}  // namespace satrap::bench
