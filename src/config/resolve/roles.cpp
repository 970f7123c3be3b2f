#include <algorithm>

#include "config/config.hpp"
#include "core/error.hpp"

namespace satrap::config {

namespace {

void check_world(const RolesConfig& roles, std::int64_t world) {
  const auto others = roles.servers + roles.workers;
  const auto needed = others + std::max<std::int64_t>(roles.trainers, 1);
  const bool open = roles.trainers == 0;
  if (open ? world >= needed : world == needed) return;

  auto remedy = fmt::format("start it with mpirun -n {}", needed);
  if (open) remedy += " or more";
  if (world > others)
    remedy += fmt::format(", or set roles.trainers = {}", world - others);
  else if (world > 1)
    remedy += ", or lower roles.servers and roles.workers";
  throw ConfigError(
      fmt::format("{} {} not fit the roles", world, world == 1 ? "rank does" : "ranks do"),
      fmt::format("roles.servers = {}, roles.workers = {}, roles.trainers = {} need {}{}",
                  roles.servers, roles.workers, roles.trainers, open ? "at least " : "", needed),
      remedy);
}

void check_servers(const Config& config) {
  const auto servers = config.roles.servers;
  if (servers < 1)
    throw ConfigError("there is no embedding server", "the tables need one",
                      "give at least one rank that role");
  if (servers > config.checkpoint.virtual_shards)
    throw ConfigError(
        fmt::format("roles.servers = {} leaves servers without rows", servers),
        fmt::format("checkpoint.virtual_shards = {}", config.checkpoint.virtual_shards),
        "take fewer servers or more virtual shards");
  for (const auto& table : config.tables)
    if (table.capacity > 0 && table.capacity < servers)
      throw ConfigError(
          fmt::format("table.{}.capacity = {} is less than a row for each of {} servers",
                      table.name, table.capacity, servers),
          {}, "raise it, give 0 for no limit, or take fewer servers");
}

}  // namespace

void resolve_roles(Config& config, std::int64_t world) {
  auto& roles = config.roles;
  check_servers(config);
  check_world(roles, world);
  roles.trainers = world - roles.servers - roles.workers;
  if (roles.workers > roles.trainers)
    throw ConfigError(
        fmt::format("roles.workers = {} leaves workers without a trainer", roles.workers),
        fmt::format("there are {} trainers", roles.trainers),
        "take at most as many workers as trainers");
  if (config.train.global_batch < roles.trainers)
    throw ConfigError(fmt::format("train.global_batch = {} is less than the {} trainers",
                                  config.train.global_batch, roles.trainers),
                      "each needs a sample per step", "raise it, or start fewer ranks");
}

}  // namespace satrap::config
