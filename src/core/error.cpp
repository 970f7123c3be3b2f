#include "core/error.hpp"

namespace satrap {

namespace {

std::string sentence(std::string_view problem, std::string_view why, std::string_view remedy) {
  std::string text(problem);
  if (!why.empty()) text += fmt::format(" ({})", why);
  if (!remedy.empty()) text += fmt::format("; {}", remedy);
  return text;
}

}  // namespace

Error::Error(ExitCode code, std::string_view problem, std::string_view why, std::string_view remedy)
    : std::runtime_error(sentence(problem, why, remedy)), code_(code) {}

namespace detail {

void check_failed(const char* kind, const char* condition, const std::source_location& where) {
  throw InternalError(fmt::format("{} failed: {}", kind, condition),
                      fmt::format("{}:{}", where.file_name(), where.line()),
                      "this is a defect of Satrap, please report it");
}

}  // namespace detail

}  // namespace satrap
