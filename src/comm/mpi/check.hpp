#pragma once

#include <mpi.h>

#include <source_location>

#include "comm/mpi/communicator.hpp"

/// Private to src/comm: the one header that includes mpi.h.
namespace satrap::comm::detail {

/// Throws InternalError unless `code` is MPI_SUCCESS: statement, MPI's text, file and line.
void check(int code, const char* statement,
           const std::source_location& where = std::source_location::current());

/// The same for destructors: logs instead of throwing.
void check_quietly(int code, const char* statement,
                   const std::source_location& where = std::source_location::current()) noexcept;

/// Whether MPI calls are possible: after MPI_Init and before MPI_Finalize.
bool is_running() noexcept;

inline MPI_Comm native(const Communicator& communicator) noexcept {
  return static_cast<MPI_Comm>(communicator.handle());
}

}  // namespace satrap::comm::detail

/// Every MPI call of src/comm is written SATRAP_MPI(MPI_Something(...)).
#define SATRAP_MPI(call) ::satrap::comm::detail::check((call), #call)
#define SATRAP_MPI_QUIETLY(call) ::satrap::comm::detail::check_quietly((call), #call)
