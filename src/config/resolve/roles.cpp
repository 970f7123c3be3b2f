#include "config/config.hpp"
#include "core/error.hpp"

namespace satrap::config {

void resolve_roles(Config& config, std::int64_t world) {
  auto& roles = config.roles;
  const auto others = roles.servers + roles.workers;
  const auto needed = others + std::max<std::int64_t>(roles.trainers, 1);
  const bool fits = roles.trainers == 0 ? world >= needed : world == needed;
  if (!fits) {
    auto remedy = fmt::format("start it with mpirun -n {}", needed);
    if (roles.trainers == 0) remedy += " or more";
    if (world > others)
      remedy += fmt::format(", or set roles.trainers = {}", world - others);
    else if (world > 1)
      remedy += ", or lower roles.servers and roles.workers";
    throw ConfigError(
        fmt::format("{} ranks do not fit the roles", world),
        fmt::format("roles.servers = {}, roles.workers = {}, roles.trainers = {} need {}{}",
                    roles.servers, roles.workers, roles.trainers,
                    roles.trainers == 0 ? "at least " : "", needed),
        remedy);
  }
  roles.trainers = world - others;
  if (config.train.global_batch < roles.trainers)
    throw ConfigError(fmt::format("train.global_batch = {} is less than the {} trainers",
                                  config.train.global_batch, roles.trainers),
                      "each needs a sample per step", "raise it, or start fewer ranks");
}

}  // namespace satrap::config
