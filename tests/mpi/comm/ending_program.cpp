/// A job of which the last rank fails while the others wait for it. How, says the argument:
///     abort   it says why and ends the job
///     unwind  an exception leaves the scope of a fabric, then as abort
///     leave   an exception leaves the scope of everything, and main returns
#include <cstring>
#include <iostream>
#include <optional>

#include "comm/mpi/environment.hpp"
#include "comm/ring/fabric.hpp"
#include "core/error.hpp"

// As in tests/support/mpi_main.cpp.
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}

namespace {

using namespace satrap;

void work(const comm::Communicator& world) {
  const comm::Fabric fabric(world, {{WorldRank{0}, WorldRank{0}, 4096}}, 64);
  if (world.rank() == world.size() - 1) throw CheckpointError("the disk is full");
  world.barrier();  // never ends
}

int fail(const std::exception& error, bool abort) {
  std::cerr << "satrap: " << error.what() << std::endl;
  if (abort) comm::abort_job(ExitCode::checkpoint);
  return static_cast<int>(ExitCode::checkpoint);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  try {
    const comm::Environment environment(&argc, &argv);
    const auto world = comm::Communicator::world();
    if (how == "leave") work(world);
    try {
      if (how == "unwind") work(world);
      if (world.rank() == world.size() - 1) throw CheckpointError("the disk is full");
      world.barrier();
    } catch (const Error& error) {
      return fail(error, true);
    }
  } catch (const Error& error) {
    return fail(error, false);
  }
}
