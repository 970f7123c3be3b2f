#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace satrap {

/// What the process returns to the shell; part of the documented interface (docs/errors.md).
enum class ExitCode : int {
  done = 0,
  internal = 1,    ///< A defect of Satrap or a failed library call (MPI, HDF5, oneDNN, memory).
  usage = 2,       ///< Command line or config.
  data = 3,        ///< Training or evaluation data.
  checkpoint = 4,  ///< A checkpoint that cannot be written or read.
  numerical = 5,   ///< Losses or gradients that stay non-finite.
  stopped = 75,    ///< Stopped by a signal after saving: run again to go on.
};

/// The one exception type that Satrap throws on purpose. what() reads "problem (why); remedy",
/// where any of the last two may be missing. The code is what the process exits with if nobody
/// handles it.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, std::string_view problem, std::string_view why = {},
        std::string_view remedy = {});

  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// An Error with a fixed code, so that a throw reads `throw DataError("...", "...", "...")`.
template <ExitCode kCode>
class ErrorOf : public Error {
 public:
  explicit ErrorOf(std::string_view problem, std::string_view why = {},
                   std::string_view remedy = {})
      : Error(kCode, problem, why, remedy) {}
};

using InternalError = ErrorOf<ExitCode::internal>;
using ConfigError = ErrorOf<ExitCode::usage>;
using DataError = ErrorOf<ExitCode::data>;
using CheckpointError = ErrorOf<ExitCode::checkpoint>;
using NumericalError = ErrorOf<ExitCode::numerical>;

/// What a program that ends for a fault says and returns.
struct Fault {
  ExitCode code = ExitCode::done;
  std::string message;
};

/// For Error its own words and code; for all else ExitCode::internal, with a remedy for memory that
/// has run out.
Fault to_fault(const std::exception& error);

namespace detail {
[[noreturn]] void check_failed(const char* kind, const char* condition, const char* file, int line);
}

}  // namespace satrap

/// What a caller must grant (SATRAP_EXPECT) and what we believe of our own code (SATRAP_ASSERT).
/// Checked when NDEBUG is not defined; a failure throws InternalError. Never for input: input is
/// checked always and with a message of its own.
#ifdef NDEBUG
#define SATRAP_EXPECT(condition) static_cast<void>(sizeof(!(condition)))
#define SATRAP_ASSERT(condition) static_cast<void>(sizeof(!(condition)))
#else
#define SATRAP_CHECK_(kind, condition) \
  ((condition) ? static_cast<void>(0)  \
               : ::satrap::detail::check_failed(kind, #condition, __FILE__, __LINE__))
#define SATRAP_EXPECT(condition) SATRAP_CHECK_("precondition", condition)
#define SATRAP_ASSERT(condition) SATRAP_CHECK_("internal check", condition)
#endif
