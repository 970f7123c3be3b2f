#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/mpi/communicator.hpp"
#include "comm/ring/fabric.hpp"
#include "config/config.hpp"
#include "core/types.hpp"

namespace satrap::job {

enum class Role { server, worker, trainer };

std::string_view name_of(Role role);
/// Of "server", "worker", "trainer"; nothing for "auto". Throws ConfigError for anything else.
std::optional<Role> parse_role(std::string_view text);

/// Who plays what: world ranks by role, and this rank's part.
struct Cast {
  std::vector<WorldRank> servers;
  std::vector<WorldRank> workers;
  std::vector<WorldRank> trainers;
  Role role = Role::trainer;
  std::int32_t index = 0;  ///< Of this rank within its role.

  /// The worker of a trainer; only with workers.
  WorldRank worker_of(TrainerId trainer) const;
  /// The trainers that this rank's pipeline serves: its own if it is a trainer without workers.
  std::vector<TrainerId> served() const;
  /// Who sends lookups and gradients to the servers.
  const std::vector<WorldRank>& requesters() const noexcept {
    return workers.empty() ? trainers : workers;
  }
  /// "trainer 0 (rank 3)".
  std::string identity(WorldRank rank) const;
};

/// Gives every rank its role: the one that it asked for, or else by the counts of [roles], servers
/// first, then workers, then trainers. Sets the counts in `config`. Collective over `world`; throws
/// the same ConfigError on every rank.
Cast cast_roles(config::Config& config, const comm::Communicator& world, std::optional<Role> asked);

/// Every ring of the job.
std::vector<comm::Link> links(const config::Config& config, const Cast& cast);

}  // namespace satrap::job
