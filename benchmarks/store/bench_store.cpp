// The store against what the memory allows, measured in turn in the same run.
//
//   bench-store [--bytes=N] [--dim=N] [--seconds=S]
//
// N bytes of table (1 GiB by default), and about as much beside it for what it is compared with.

#include <cstdlib>
#include <string_view>

#include "core/error.hpp"
#include "core/processor.hpp"
#include "figures.hpp"

namespace satrap::bench {
namespace {

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const auto equals = argument.find('=');
    const std::string_view key = argument.substr(0, equals);
    char* end = nullptr;
    const double value =
        equals == std::string_view::npos ? 0 : std::strtod(argv[i] + equals + 1, &end);
    const bool known = key == "--bytes" || key == "--dim" || key == "--seconds";
    if (!known || end == nullptr || *end != '\0' || !(value > 0 && value < 1e15)) {
      throw ConfigError(fmt::format("'{}' is not understood", argument), {},
                        "use --bytes=N, --dim=N or --seconds=S");
    }
    if (key == "--bytes") options.bytes = static_cast<std::int64_t>(value);
    if (key == "--dim") options.dim = static_cast<std::int64_t>(value);
    if (key == "--seconds") options.seconds = value;
  }
  return options;
}

void run(const Options& options) {
  compare_operations(options);
  compare_inserts(options);
  measure_memory(options);
  compare_peers(options);
  compare_id_spaces(options);
}

}  // namespace
}  // namespace satrap::bench

int main(int argc, char** argv) {
  try {
    satrap::check_processor();
    satrap::bench::run(satrap::bench::parse(argc, argv));
  } catch (const std::exception& error) {
    const satrap::Fault fault = satrap::to_fault(error);
    fmt::print(stderr, "bench-store: {}\n", fault.message);
    return static_cast<int>(fault.code);
  }
  return 0;
}
