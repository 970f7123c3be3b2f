#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
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

/// MPI counts are int: the elements that one call moves at most.
inline constexpr std::int64_t kMaxCount = std::int64_t{1} << 30;

/// Calls piece(begin, count) for consecutive pieces of [0, total), each of at most `limit`.
template <class Piece>
void for_each_piece(std::int64_t total, std::int64_t limit, Piece piece) {
  for (std::int64_t begin = 0; begin < total; begin += limit) {
    piece(begin, static_cast<int>(std::min(limit, total - begin)));
  }
}

}  // namespace satrap::comm::detail

/// Every MPI call of src/comm is written SATRAP_MPI(MPI_Something(...)).
#define SATRAP_MPI(call) ::satrap::comm::detail::check((call), #call)
#define SATRAP_MPI_QUIETLY(call) ::satrap::comm::detail::check_quietly((call), #call)
