#include "comm/mpi/open_mpi.hpp"

#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace satrap::comm {

namespace {

bool infiniband_present() {
  std::error_code none;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband", none);
  return !none && devices != std::filesystem::directory_iterator();
}

/// Reads a byte of this process: allowed everywhere unless a container forbids the call itself.
bool can_copy_from_peers() {
  char from = 1;
  char to = 0;
  const iovec local{&to, 1};
  const iovec remote{&from, 1};
  return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == 1;
}

long ranks_on_this_host() {
  // The second is Slurm's, e.g. "8(x2)"; its leading number is close enough.
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_STEP_TASKS_PER_NODE"}) {
    if (const char* text = std::getenv(variable)) return std::strtol(text, nullptr, 10);
  }
  return 1;
}

}  // namespace

HostFacts host_facts() {
  return {infiniband_present(), can_copy_from_peers(), ranks_on_this_host(),
          static_cast<long>(std::thread::hardware_concurrency())};
}

std::vector<Default> open_mpi_defaults(const HostFacts& host) {
  std::vector<Default> defaults;
  // Over Ethernet osc/rdma fails and osc/ucx needs milliseconds: what is left is osc/sm on one host
  // and osc/pt2pt between hosts.
  if (!host.infiniband) defaults.push_back({"OMPI_MCA_osc", "^ucx,rdma"});
  if (!host.copies_from_peers) {
    defaults.push_back({"OMPI_MCA_btl_vader_single_copy_mechanism", "none"});
  }
  // A rank has a compute thread beside the one that waits in MPI.
  if (2 * host.local_ranks > host.cores) defaults.push_back({"OMPI_MCA_mpi_yield_when_idle", "1"});
  // Started without mpirun: no daemon is needed, as we never spawn processes.
  defaults.push_back({"OMPI_MCA_ess_singleton_isolated", "1"});
  return defaults;
}

void set_in_environment(const std::vector<Default>& defaults) {
  constexpr int kKeepWhatIsSet = 0;
  for (const auto& [variable, value] : defaults) {
    setenv(variable.c_str(), value.c_str(), kKeepWhatIsSet);
  }
}

bool allows_osc(std::string_view name) {
  const char* setting = std::getenv("OMPI_MCA_osc");
  std::string_view list = setting != nullptr ? setting : "";
  if (list.empty()) return true;
  const bool excludes = list.starts_with('^');
  if (excludes) list.remove_prefix(1);
  bool listed = false;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    listed |= list.substr(0, comma) == name;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return listed != excludes;
}

std::filesystem::path shared_memory_directory() {
  const char* setting = std::getenv("OMPI_MCA_osc_sm_backing_directory");
  return setting != nullptr ? setting : "/dev/shm";
}

void silence_abort_banner() noexcept {
  // What `mpirun --quiet` sets. As a setting at start it would also hide why MPI_Init failed.
  if (auto* quiet = static_cast<bool*>(dlsym(RTLD_DEFAULT, "orte_execute_quiet"))) *quiet = true;
}

}  // namespace satrap::comm
