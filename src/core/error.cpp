#include "core/error.hpp"

#include <new>

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

Fault to_fault(const std::exception& error) {
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return {ours->code(), ours->what()};
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {ExitCode::internal,
            sentence("memory has run out", {},
                     "make the model, the batch or the tables smaller, or spread them over more "
                     "ranks; --dry-run tells what each rank needs")};
  }
  return {ExitCode::internal, error.what()};
}

namespace detail {

void check_failed(const char* kind, const char* condition, const char* file, int line) {
  throw InternalError(fmt::format("{} failed: {}", kind, condition),
                      fmt::format("{}:{}", file, line),
                      "this is a defect of Satrap, please report it");
}

}  // namespace detail

}  // namespace satrap
