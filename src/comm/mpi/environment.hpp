#pragma once

#include "comm/mpi/communicator.hpp"
#include "core/error.hpp"

namespace satrap::comm {

/// MPI for the life of the process: initialises with MPI_THREAD_FUNNELED and finalises. Only the
/// thread that made it may call anything of satrap::comm, except where a class says otherwise.
///
/// Before MPI_Init it gives OMPI_MCA_* settings that Satrap needs a default in the process's
/// environment (the user's settings win): see docs/transport.md.
class Environment {
 public:
  Environment(int* argc, char*** argv);
  ~Environment();
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
};

/// Throws ConfigError, the same on every rank, for ways of starting a job that would end in chaos:
/// ranks that do not see each other, or that would use different one-sided components. Collective.
void check_launch(const Communicator& world);

/// The end of a job that returns `code`, for main to return: collective, once every rank has said
/// what it has to say. Under mpirun a code other than 0 ends the ranks here, because mpirun buries
/// what they said below two notices of its own if they return it.
ExitCode leave_job(const Communicator& world, ExitCode code);

/// Ends every rank of the job at once with `code`, after this rank has logged why. For errors that
/// the other ranks do not know of; those that all ranks know of return from main instead.
[[noreturn]] void abort_job(ExitCode code) noexcept;

}  // namespace satrap::comm
