#include "comm/mpi/check.hpp"

#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/log.hpp"

namespace satrap::comm::detail {

namespace {

std::string describe(int code, const std::source_location& where) {
  char text[MPI_MAX_ERROR_STRING] = "unknown error";
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::string_view file = where.file_name();
  if (const auto source = file.rfind("/src/"); source != file.npos) file.remove_prefix(source + 1);
  return fmt::format("{}, at {}:{}", text, file, where.line());
}

}  // namespace

void check(int code, const char* statement, const std::source_location& where) {
  if (code == MPI_SUCCESS) return;
  throw InternalError(fmt::format("{} failed", statement), describe(code, where));
}

void check_quietly(int code, const char* statement, const std::source_location& where) noexcept {
  if (code == MPI_SUCCESS) return;
  try {
    spdlog::error("{} failed ({})", statement, describe(code, where));
  } catch (...) {  // nothing is left to tell it to
  }
}

bool is_running() noexcept {
  int initialized = 0;
  int finalized = 0;
  SATRAP_MPI_QUIETLY(MPI_Initialized(&initialized));
  SATRAP_MPI_QUIETLY(MPI_Finalized(&finalized));
  return initialized != 0 && finalized == 0;
}

}  // namespace satrap::comm::detail
