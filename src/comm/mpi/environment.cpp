#include "comm/mpi/environment.hpp"

#include <cstdlib>
#include <exception>
#include <string_view>

#include "comm/mpi/check.hpp"
#include "comm/mpi/open_mpi.hpp"

namespace satrap::comm {

namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

Environment::Environment(int* argc, char*** argv) {
  int initialized = 0;
  SATRAP_MPI(MPI_Initialized(&initialized));
  if (initialized != 0)
    throw InternalError("MPI is initialised already", {}, "make one Environment");
  set_in_environment(open_mpi_defaults(host_facts()));
  int provided = MPI_THREAD_SINGLE;
  SATRAP_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided));
  SATRAP_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  SATRAP_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  if (provided < MPI_THREAD_FUNNELED) {
    throw InternalError("the MPI library offers no MPI_THREAD_FUNNELED",
                        "compute threads run beside the one that calls MPI",
                        "use an MPI library built with thread support");
  }
}

Environment::~Environment() {
  // Ranks that know nothing of an error here would keep MPI_Finalize waiting.
  if (std::uncaught_exceptions() > 0 || !detail::is_running()) return;
  SATRAP_MPI_QUIETLY(MPI_Finalize());
}

void check_launch(const Communicator& world) {
  // srun without a PMI plug-in starts n jobs of one rank each, which would overwrite each other.
  const std::string_view tasks = variable("SLURM_STEP_NUM_TASKS");
  if (world.size() == 1 && !tasks.empty() && tasks != "1" &&
      variable("OMPI_COMM_WORLD_SIZE").empty()) {
    throw ConfigError(fmt::format("srun started {} tasks that do not see each other", tasks),
                      "each believes to be the only rank", "start with srun --mpi=pmix");
  }
  // Ranks with different one-sided components would hang when they make their first window.
  const auto components = world.all_gather(std::string(variable("OMPI_MCA_osc")));
  for (std::size_t r = 1; r < components.size(); ++r) {
    if (components[r] == components[0]) continue;
    throw ConfigError(
        fmt::format("ranks disagree about OMPI_MCA_osc: '{}' on rank {}, '{}' on rank 0",
                    components[r], r, components[0]),
        "by default it depends on whether /sys/class/infiniband has a device",
        "set OMPI_MCA_osc to the same value for all ranks, '^ucx,rdma' for Ethernet");
  }
}

ExitCode leave_job(const Communicator& world, ExitCode code) {
  world.barrier();
  const bool under_mpirun = !variable("OMPI_MCA_orte_hnp_uri").empty();
  if (under_mpirun && code != ExitCode::done) abort_job(code);
  return code;
}

void abort_job(ExitCode code) noexcept {
  if (detail::is_running()) {
    silence_abort_banner();
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  }
  std::_Exit(static_cast<int>(code));
}

}  // namespace satrap::comm
