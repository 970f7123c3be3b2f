#pragma once

#include <cstdint>

namespace satrap::store {

/// Memory of this process as the system counts it, in bytes.
struct ProcessMemory {
  std::int64_t resident = 0;
  std::int64_t peak = 0;  ///< The largest that `resident` has been.
};

/// Throws InternalError if the system does not tell.
ProcessMemory process_memory();

/// Bytes that this machine can give to programs without swapping (MemAvailable). Throws as above.
std::int64_t available_memory();

}  // namespace satrap::store
