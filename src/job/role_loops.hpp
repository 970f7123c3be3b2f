#pragma once

#include <string>
#include <vector>

#include "comm/mpi/communicator.hpp"
#include "comm/ring/fabric.hpp"
#include "config/config.hpp"
#include "core/error.hpp"
#include "job/cast.hpp"
#include "job/run_directory.hpp"
#include "store/table.hpp"

namespace satrap::job {

/// What a role needs to know of the job. References outlive the loops.
struct Stage {
  const config::Config& config;
  const Cast& cast;
  const Start& start;
  const RunDirectory& directory;
  std::vector<std::string> train_files;
  std::vector<std::string> valid_files;
  bool evaluate_only = false;
};

/// Bytes of one slot of a trainer's landing zone, and of the whole. The latter throws ConfigError
/// where that is absurd.
std::int64_t slot_bytes(const config::Config& config);
std::int64_t landing_bytes(const config::Config& config);

// Each runs one rank's role until the job ends, on the thread that owns MPI, and returns the exit
// code that all ranks share. Throws what goes wrong on this rank.
ExitCode run_server(const Stage& stage, comm::Fabric& fabric);
ExitCode run_worker(const Stage& stage, comm::Fabric& fabric);
/// `trainers` joins the trainers, in their order.
ExitCode run_trainer(const Stage& stage, comm::Fabric& fabric, const comm::Communicator& trainers);

/// The tables of server `index`, filled from the start's checkpoint.
std::vector<store::Table> make_tables(const config::Config& config, const Start& start,
                                      std::int32_t index);

}  // namespace satrap::job
