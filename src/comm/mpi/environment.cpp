#include "comm/mpi/environment.hpp"

#include <cstdlib>
#include <exception>
#include <string_view>

#include "comm/mpi/check.hpp"
#include "comm/mpi/open_mpi.hpp"
#include "core/hash.hpp"

namespace satrap::comm {

namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// srun without a PMI plug-in starts n jobs of one rank each, which would overwrite each other.
void check_launcher() {
  int size = 0;
  SATRAP_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size));
  const std::string_view tasks = variable("SLURM_STEP_NUM_TASKS");
  if (size > 1 || tasks.empty() || tasks == "1" || !variable("OMPI_COMM_WORLD_SIZE").empty()) {
    return;
  }
  throw ConfigError(fmt::format("srun started {} tasks that do not see each other", tasks),
                    "each believes to be the only rank", "start with srun --mpi=pmix");
}

/// Ranks with different one-sided components would hang when they make their first window.
void check_same_settings() {
  const std::string_view osc = variable("OMPI_MCA_osc");
  const auto hash = static_cast<std::int64_t>(hash_bytes(osc) >> 1);
  std::int64_t range[2] = {hash, -hash};
  SATRAP_MPI(MPI_Allreduce(MPI_IN_PLACE, range, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD));
  if (range[0] == -range[1]) return;
  throw ConfigError(fmt::format("ranks disagree about OMPI_MCA_osc, which is '{}' here", osc),
                    "by default it depends on whether /sys/class/infiniband has a device",
                    "set OMPI_MCA_osc to the same value for all ranks, '^ucx,rdma' for Ethernet");
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
  check_launcher();
  check_same_settings();
}

Environment::~Environment() {
  // Ranks that know nothing of an error here would keep MPI_Finalize waiting.
  if (std::uncaught_exceptions() > 0 || !detail::is_running()) return;
  SATRAP_MPI_QUIETLY(MPI_Finalize());
}

void abort_job(ExitCode code) noexcept {
  if (detail::is_running()) {
    silence_abort_banner();
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  }
  std::_Exit(static_cast<int>(code));
}

}  // namespace satrap::comm
