#include "job/cast.hpp"

#include <algorithm>

#include "core/error.hpp"

namespace satrap::job {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::server:
      return "server";
    case Role::worker:
      return "worker";
    default:
      return "trainer";
  }
}

std::optional<Role> parse_role(std::string_view text) {
  if (text == "auto") return std::nullopt;
  for (const Role role : {Role::server, Role::worker, Role::trainer}) {
    if (text == name_of(role)) return role;
  }
  throw ConfigError(fmt::format("command line: --role {} is not a role", text), {},
                    "use server, worker, trainer or auto");
}

WorldRank Cast::worker_of(TrainerId trainer) const {
  const auto k = static_cast<std::size_t>(raw(trainer));
  return workers[k * workers.size() / trainers.size()];
}

std::vector<TrainerId> Cast::served() const {
  std::vector<TrainerId> ids;
  for (std::int32_t k = 0; k < static_cast<std::int32_t>(trainers.size()); ++k) {
    const bool mine = role == Role::worker
                          ? worker_of(TrainerId{k}) == workers[static_cast<std::size_t>(index)]
                          : role == Role::trainer && k == index;
    if (mine) ids.push_back(TrainerId{k});
  }
  return ids;
}

std::string Cast::identity(WorldRank rank) const {
  return fmt::format("{} {} (rank {})", name_of(role), index, raw(rank));
}

namespace {

Cast from_roles(const std::vector<std::int64_t>& role_of_rank, int me) {
  Cast cast;
  for (std::size_t r = 0; r < role_of_rank.size(); ++r) {
    const auto role = static_cast<Role>(role_of_rank[r]);
    auto& list = role == Role::server   ? cast.servers
                 : role == Role::worker ? cast.workers
                                        : cast.trainers;
    if (static_cast<int>(r) == me) {
      cast.role = role;
      cast.index = static_cast<std::int32_t>(list.size());
    }
    list.push_back(WorldRank{static_cast<std::int32_t>(r)});
  }
  return cast;
}

std::vector<std::int64_t> roles_by_count(const config::Config& config, int world) {
  std::vector<std::int64_t> roles(static_cast<std::size_t>(world),
                                  static_cast<std::int64_t>(Role::trainer));
  const auto servers = roles.begin() + config.roles.servers;
  std::fill(roles.begin(), servers, static_cast<std::int64_t>(Role::server));
  std::fill(servers, servers + config.roles.workers, static_cast<std::int64_t>(Role::worker));
  return roles;
}

}  // namespace

Cast cast_roles(config::Config& config, const comm::Communicator& world,
                std::optional<Role> asked) {
  constexpr std::int64_t kAuto = -1;
  auto roles = world.all_gather(asked ? static_cast<std::int64_t>(*asked) : kAuto);
  const auto autos = std::count(roles.begin(), roles.end(), kAuto);
  if (autos == world.size()) {
    config::resolve_roles(config, world.size());
    roles = roles_by_count(config, world.size());
  } else if (autos > 0) {
    throw ConfigError(fmt::format("{} of {} ranks have no --role", autos, world.size()),
                      "either every rank is given its role or none is",
                      "add --role to every part of the mpirun or srun command");
  } else {
    const auto count = [&](Role role) {
      return std::count(roles.begin(), roles.end(), static_cast<std::int64_t>(role));
    };
    config.roles.servers = count(Role::server);
    config.roles.workers = count(Role::worker);
    config.roles.trainers = count(Role::trainer);
    config::resolve_roles(config, world.size());
  }
  return from_roles(roles, world.rank());
}

std::vector<comm::Link> links(const config::Config& config, const Cast& cast) {
  std::vector<comm::Link> all;
  const auto connect = [&](WorldRank a, WorldRank b) {
    all.push_back({a, b, config.transport.ring_bytes});
    all.push_back({b, a, config.transport.ring_bytes});
  };
  for (const WorldRank requester : cast.requesters()) {
    for (const WorldRank server : cast.servers) connect(requester, server);
  }
  if (!cast.workers.empty()) {
    for (std::int32_t k = 0; k < static_cast<std::int32_t>(cast.trainers.size()); ++k) {
      connect(cast.worker_of(TrainerId{k}), cast.trainers[static_cast<std::size_t>(k)]);
    }
  }
  return all;
}

}  // namespace satrap::job
