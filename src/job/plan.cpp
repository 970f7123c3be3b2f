#include "job/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/choices.hpp"
#include "job/role_loops.hpp"
#include "job/shards.hpp"
#include "job/text.hpp"
#include "store/table.hpp"
#include "trainer/train_step.hpp"
#include "worker/pipeline.hpp"

namespace satrap::job {

namespace {

std::string ranks(const std::vector<WorldRank>& list) {
  if (list.empty()) return "none";
  if (list.size() == 1) return fmt::format("rank {}", raw(list.front()));
  return fmt::format("ranks {}-{}", raw(list.front()), raw(list.back()));
}

/// Both ends of a ring hold its bytes: the reader's window and the writer's copy.
std::int64_t ring_memory(const config::Config& config, std::size_t peers) {
  return 2 * config.transport.ring_bytes * static_cast<std::int64_t>(peers);
}

/// What a table can grow to over all servers, by its capacity or its hashes.
struct Limit {
  double rows = 0;   ///< 0: none.
  double bytes = 0;  ///< Of all there is without a limit: the admission window.
};

Limit limit_of(const config::TableConfig& table, std::int64_t server_count) {
  const config::TableConfig shard = shard_of(table, server_count);
  const auto servers = static_cast<double>(server_count);
  const double given = servers * static_cast<double>(store::Table::capacity_in_rows(shard));
  const double hashed = static_cast<double>(table.hash_rows * table.hash_buckets);
  const double rows = given == 0 || hashed == 0 ? std::max(given, hashed) : std::min(given, hashed);
  if (table.capacity_bytes > 0 && rows == given) {
    return {rows, static_cast<double>(table.capacity_bytes)};
  }
  return {rows, rows * static_cast<double>(store::Table::bytes_per_row(shard)) +
                    servers * static_cast<double>(store::Table::admission_bytes(shard))};
}

/// Of a size that nobody has, as a limit can be, says the most that fits.
std::string table_bytes(double size) {
  return bytes(static_cast<std::int64_t>(std::min(size, 0x1p62)));
}

std::string to_text(const Limit& limit) {
  if (limit.rows > 0) return fmt::format("{:.0f} rows, {}", limit.rows, table_bytes(limit.bytes));
  if (limit.bytes == 0) return "grows with the ids";
  return fmt::format("{} to count appearances, grows with the ids", table_bytes(limit.bytes));
}

std::string table_lines(const config::Config& config) {
  std::string text = "tables\n";
  double total = 0;
  bool bounded = true;
  for (const auto& table : config.tables) {
    const Limit limit = limit_of(table, config.roles.servers);
    bounded &= limit.rows > 0;
    total += limit.bytes;
    text += fmt::format("  {:<16} dim {:<4} {:<4} {:<16} {:>5} bytes per row  {}\n", table.name,
                        table.dim, config::name_of(table.storage), config::name_of(table.optimizer),
                        store::Table::bytes_per_row(shard_of(table, config.roles.servers)),
                        to_text(limit));
  }
  text += fmt::format("  per server       {}{}\n",
                      table_bytes(total / static_cast<double>(config.roles.servers)),
                      bounded ? "" : " and the rows of the tables without a capacity");
  return text;
}

}  // namespace

std::string plan(const config::Config& config, const Cast& cast, const Start& start) {
  const auto model = nn::make_model(config.model, trainer::model_shape(config), config.job.seed);
  const auto parameters = static_cast<std::int64_t>(model->parameters().size());
  const auto optimizer = nn::make_optimizer(config.dense_optimizer, parameters);
  const auto state_arrays = static_cast<std::int64_t>(optimizer->state().size());

  std::string text = "roles\n";
  text += fmt::format("  servers  {:>4}  {}\n  workers  {:>4}  {}\n  trainers {:>4}  {}\n",
                      cast.servers.size(), ranks(cast.servers), cast.workers.size(),
                      ranks(cast.workers), cast.trainers.size(), ranks(cast.trainers));
  text += table_lines(config);
  text += fmt::format(
      "dense model\n  {} {} parameters, {:.2f} MFLOP of matrix products per sample\n",
      config::name_of(config.model.kind), parameters, model->matmul_flops_per_sample() / 1e6);
  const std::size_t trainer_peers = cast.workers.empty() ? cast.servers.size() : 1;
  text += fmt::format(
      "memory per rank besides the tables\n"
      "  server   {} for rings\n"
      "  worker   {} for rings\n"
      "  trainer  {} for rings, {} for the rows of {} in-flight batches, {} for the dense model\n",
      bytes(ring_memory(config, cast.requesters().size())),
      bytes(cast.workers.empty() ? 0 : ring_memory(config, cast.servers.size() + 1)),
      bytes(ring_memory(config, trainer_peers)), bytes(landing_bytes(config)),
      worker::in_flight_limit(config),
      bytes(parameters * (2 + state_arrays) * static_cast<std::int64_t>(sizeof(float))));
  text += start.checkpoint ? fmt::format("start\n  behind step {} of {}\n", start.step,
                                         start.checkpoint->string())
                           : std::string("start\n  from the beginning\n");
  return text;
}

}  // namespace satrap::job
