#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

/// What Satrap asks of Open MPI beyond the MPI standard; the reasons are in docs/transport.md.
namespace satrap::comm {

/// What the defaults depend on.
struct HostFacts {
  bool infiniband;         ///< A device with RDMA (InfiniBand, RoCE) is present.
  bool copies_from_peers;  ///< The kernel lets us call process_vm_readv; containers may not.
  long local_ranks;        ///< Of this job on this host; 1 if unknown.
  long cores;              ///< That this process may run on at most.
};

HostFacts host_facts();

struct Default {
  std::string variable;
  std::string value;
};

/// Settings that suit a host, as environment variables for MPI_Init to read.
std::vector<Default> open_mpi_defaults(const HostFacts& host);

/// Sets those of `defaults` that the environment does not set. Before threads start.
void set_in_environment(const std::vector<Default>& defaults);

/// Whether the environment allows the one-sided component `name`: OMPI_MCA_osc is unset, names it,
/// or excludes (^) others.
bool allows_osc(std::string_view name);

/// Where osc/sm keeps windows.
std::filesystem::path shared_memory_directory();

/// Keeps MPI_Abort from adding its banner to the message that the user should read.
void silence_abort_banner() noexcept;

}  // namespace satrap::comm
