#include "figures.hpp"
#include "plain_rows.hpp"
#include "rate.hpp"

namespace satrap::bench {
namespace {

volatile std::uint64_t looked;  ///< Keeps looks at an index from being left out.

/// `suffix` goes behind the names of figures; the targets are for fp32.
void compare_with_plain_rows(const Options& o, config::Storage storage, const std::string& suffix,
                             std::optional<double> target) {
  const auto config = table_config(o.dim, storage);
  const std::int64_t rows = rows_of(config, o.bytes);
  store::Table table(TableId{0}, config, 1);
  fill(table, rows);
  PlainRows plain(rows, table.layout());
  Batches b(rows, o.dim);
  fmt::print("# {} rows of dim {}, {}, row-wise Adagrad; batches of {}\n", rows, o.dim,
             config::name_of(storage), kBatch);

  const auto gather = [&] { plain.gather(b.places, b.values.data()); };
  compare(
      b, o.seconds, "store-lookup" + suffix, [&] { table.lookup(b.ids, 1, b.values.data()); },
      "plain-gather", gather, target);
  if (storage == config::Storage::fp32) {
    compare(
        b, o.seconds, "store-evaluation-lookup", [&] { table.peek(b.ids, b.values.data()); },
        "plain-gather", gather, target);
  }
  const PlainIndex index(rows);
  compare(
      b, o.seconds, "store-lookup" + suffix, [&] { table.lookup(b.ids, 1, b.values.data()); },
      "plain-index-and-gather",
      [&] {
        looked = index.look(b.places);
        gather();
      },
      {});
  store::UpdateContext context;
  compare(
      b, o.seconds, "store-update" + suffix,
      [&] {
        ++context.step;
        table.apply(b.ids, b.gradients.data(), context);
      },
      "plain-read-write", [&] { plain.add(b.places, b.gradients.data()); }, target);
}

}  // namespace

void compare_operations(const Options& options) {
  compare_with_plain_rows(options, config::Storage::fp32, "", 0.7);
  for (const auto storage : {config::Storage::fp16, config::Storage::bf16, config::Storage::int8}) {
    compare_with_plain_rows(options, storage, fmt::format("-{}", config::name_of(storage)), {});
  }
}

}  // namespace satrap::bench
