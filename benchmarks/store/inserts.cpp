#include <algorithm>
#include <numeric>

#include "figures.hpp"
#include "plain_rows.hpp"
#include "rate.hpp"

namespace satrap::bench {
namespace {

/// Means, because splits of the index and evictions come in lumps.
void print_rate(std::string name, const Rate& value, std::string limit_name, const Rate& limit) {
  print({std::move(name), value.mean(), "rows/s", std::move(limit_name), limit.mean(), 0.4});
}

/// A table that grows, beside memory that is as new, in the same order: both wait for the system's
/// pages. And beside writes at random places to memory in use.
void compare_growth(const Options& o, Batches& b, PlainRows& used) {
  store::Table table(TableId{0}, table_config(o.dim), 1);
  PlainRows fresh(used.rows(), table.layout(), false);
  std::vector<std::uint32_t> next(kBatch);
  std::iota(next.begin(), next.end(), 0U);
  Rate insert, new_memory, memory_in_use;
  while (next.back() < used.rows() && insert.total() < o.seconds) {
    b.draw();
    b.draw_new_ids();
    insert.time([&] { table.lookup(b.ids, 1, b.values.data()); });
    new_memory.time([&] { fresh.write(next, b.gradients.data()); });
    memory_in_use.time([&] { used.write(b.places, b.gradients.data()); });
    for (std::uint32_t& place : next) place += kBatch;
  }
  print_rate("store-insert", insert, "plain-write-new-memory", new_memory);
  print_rate("store-insert", insert, "plain-write", memory_in_use);
}

void compare_evictions(const Options& o, Batches& b, PlainRows& used) {
  auto config = table_config(o.dim);
  config.capacity = std::max<std::int64_t>(used.rows() / 4, 2 * kBatch);
  store::Table table(TableId{0}, config, 1);
  while (table.statistics().evicted == 0) {
    b.draw_new_ids();
    table.lookup(b.ids, 1, b.values.data());
  }
  Rate insert, write;
  while (insert.total() < o.seconds) {
    b.draw();
    b.draw_new_ids();
    insert.time([&] { table.lookup(b.ids, 1, b.values.data()); });
    write.time([&] { used.write(b.places, b.gradients.data()); });
  }
  print_rate("store-insert-and-evict", insert, "plain-write", write);
}

}  // namespace

void compare_inserts(const Options& o) {
  const auto config = table_config(o.dim);
  const std::int64_t rows = rows_of(config, o.bytes / 2);
  PlainRows used(rows, store::Table(TableId{0}, config, 1).layout());
  Batches b(rows, o.dim);
  compare_growth(o, b, used);
  compare_evictions(o, b, used);
}

}  // namespace satrap::bench
