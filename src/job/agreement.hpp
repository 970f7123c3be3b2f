#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/mpi/communicator.hpp"
#include "core/error.hpp"
#include "job/job.hpp"

/// How ranks come to know the same before work starts, and what they may not differ in. All of it
/// is collective over `world`.
namespace satrap::job {

/// A fault that every rank knows of; its message is rank 0's to tell.
struct Refused {
  Fault fault;
};

/// Runs `fn` on rank 0 and gives its text to all ranks. What it throws is thrown on all as Refused.
template <class Fn>
std::string on_first_rank(const comm::Communicator& world, Fn&& fn) {
  Fault fault;
  std::string text;
  if (world.rank() == 0) {
    try {
      text = fn();
    } catch (const std::exception& error) {
      fault = to_fault(error);
    }
  }
  const std::string code = world.broadcast(std::to_string(static_cast<int>(fault.code)), 0);
  fault.code = static_cast<ExitCode>(std::stoi(code));
  fault.message = world.broadcast(fault.message, 0);
  if (fault.code != ExitCode::done) throw Refused{fault};
  return world.broadcast(text, 0);
}

/// For what throws the same ConfigError on every rank.
template <class Fn>
auto on_every_rank(Fn&& fn) {
  try {
    return fn();
  } catch (const ConfigError& error) {
    throw Refused{to_fault(error)};
  }
}

/// `refusal` is what this rank could not accept, if anything.
void refuse_if_any_rank_does(const comm::Communicator& world, const std::string& refusal);

/// The parts of an mpirun or srun command may differ in their roles only: an option that is given
/// to one of them would have no effect, or on some ranks only.
void refuse_different_requests(const comm::Communicator& world, const Request& request);

/// Ranks that read different files (a copy on each host, a mount that lags) would not agree about
/// the steps, and wait for each other. `reads` is whether this rank reads any.
void refuse_different_data(const comm::Communicator& world, bool reads,
                           const std::vector<std::string>& train_files,
                           const std::vector<std::string>& valid_files);

}  // namespace satrap::job
