#pragma once

namespace satrap {

/// Throws InternalError if this processor lacks instructions that the program was built with
/// (SATRAP_ARCH), which would otherwise end it with SIGILL somewhere. First thing in main.
void check_processor();

}  // namespace satrap
