#include "store/capacity/process_memory.hpp"

#include <fstream>
#include <string>

#include "core/error.hpp"

namespace satrap::store {
namespace {

/// The bytes of a line "Name:   123 kB".
std::int64_t bytes_of(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::int64_t kilobytes = 0;
    if (word == name && file >> kilobytes) return kilobytes * 1024;
  }
  throw InternalError(fmt::format("{} has no {}", path, name), {}, "mount /proc of Linux");
}

}  // namespace

ProcessMemory process_memory() {
  return {.resident = bytes_of("/proc/self/status", "VmRSS:"),
          .peak = bytes_of("/proc/self/status", "VmHWM:")};
}

std::int64_t available_memory() {
  return bytes_of("/proc/meminfo", "MemAvailable:");
}

}  // namespace satrap::store
