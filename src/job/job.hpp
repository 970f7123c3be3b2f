#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "job/cast.hpp"

namespace satrap::job {

/// What the command line asks for.
struct Request {
  enum class Action {
    train,
    evaluate,      ///< Load a checkpoint and evaluate it.
    print_config,  ///< Print the resolved config and stop.
    dry_run,       ///< Check everything, print the plan and stop.
  };
  Action action = Action::train;
  std::string config_path;                ///< Empty: defaults and settings only.
  std::vector<config::Setting> settings;  ///< Of the command line; they win over the file.
  std::optional<Role> role;               ///< Of this rank; nothing: by the counts in [roles].
};

/// Runs the job. Called by every rank; `refusal` is what the rank could not accept on its command
/// line, if anything. Faults that rank 0 sees before work starts end every rank with the same code
/// and one message; a fault of one rank during the work ends the others through MPI_Abort, after
/// its message.
ExitCode run(const Request& request, const std::string& refusal);

}  // namespace satrap::job
