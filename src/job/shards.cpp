#include "job/shards.hpp"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "core/error.hpp"
#include "store/table.hpp"

namespace satrap::job {

namespace {

/// A hash deals rows out to servers, with a deviation of at most the root of a server's mean.
std::int64_t with_six_deviations(std::int64_t mean) {
  return mean + static_cast<std::int64_t>(6 * std::sqrt(static_cast<double>(mean)));
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

/// The rows that one server needs at most of a batch that needs `rows` of all.
std::int64_t most_on_one_server(const config::Config& config, std::int64_t rows) {
  const std::int64_t servers = config.roles.servers;
  if (servers == 1) return rows;
  // Of the server with the most virtual shards, where they cannot be divided evenly.
  const std::int64_t shards = config.checkpoint.virtual_shards;
  const double share = static_cast<double>(ceil_div(shards, servers)) / static_cast<double>(shards);
  const auto mean = static_cast<std::int64_t>(std::ceil(static_cast<double>(rows) * share));
  return std::min(rows, with_six_deviations(mean));
}

/// What all servers have at least when one of them has `part`, rounded up.
std::int64_t least_whole(std::int64_t part, std::int64_t servers) {
  return (part - 1) * servers + 1;
}

/// The least capacity of which shard_of() has `rows` rows.
std::int64_t least_capacity(config::TableConfig table, std::int64_t servers, std::int64_t rows) {
  const auto is_too_small = [&](std::int64_t part) {
    table.capacity = least_whole(part, servers);
    return shard_of(table, servers).capacity < rows;
  };
  const auto parts = std::views::iota(std::int64_t{1}, rows + 1);
  return least_whole(*std::ranges::partition_point(parts, is_too_small), servers);
}

void check_shard(const config::Config& config, std::size_t t, std::int64_t samples) {
  const config::TableConfig& table = config.tables[t];
  const std::int64_t servers = config.roles.servers;
  const config::TableConfig shard = shard_of(table, servers);
  const std::int64_t all = config.most_rows(t, samples);
  const std::int64_t rows = most_on_one_server(config, all);
  const auto refuse = [&](const char* key, std::int64_t value, std::string_view why,
                          std::int64_t least) {
    throw ConfigError(fmt::format("table.{}.{} = {} is too small for {} {}", table.name, key, value,
                                  servers, servers == 1 ? "server" : "servers"),
                      why, fmt::format("give at least {}, or 0 for no limit", least));
  };
  const auto batch =
      fmt::format("of the {} rows that a batch can need, {} can be on one server", all, rows);
  if (table.capacity_bytes > 0) {
    const std::int64_t least = least_whole(store::Table::bytes_for(table, rows), servers);
    const bool has_rows = shard.capacity_bytes >= store::Table::bytes_for(table, 1);
    if (table.capacity_bytes < least) {
      refuse("capacity_bytes", table.capacity_bytes,
             has_rows ? batch : "each has blocks of memory for rows, index and admission", least);
    }
  } else if (table.capacity > 0 && shard.capacity < rows) {
    refuse("capacity", table.capacity, batch, least_capacity(table, servers, rows));
  }
  store::Table::bytes_per_row(shard);  // Throws as a server would.
}

}  // namespace

config::TableConfig shard_of(config::TableConfig table, std::int64_t servers) {
  table.capacity = ceil_div(table.capacity, servers);
  if (table.eviction == config::Eviction::none && servers > 1) {
    // A job that must not exceed its capacity must not end before it either.
    table.capacity = with_six_deviations(table.capacity);
  }
  table.capacity_bytes = ceil_div(table.capacity_bytes, servers);
  return table;
}

void check_shards(const config::Config& config, std::int64_t samples) {
  for (std::size_t t = 0; t < config.tables.size(); ++t) check_shard(config, t, samples);
}

}  // namespace satrap::job
