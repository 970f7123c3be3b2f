/// An MPI that misbehaves: this program's MPI_Put stands before the library's (MPI's profiling
/// interface), and can lose, damage or refuse what is put.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <string>
#include <vector>

#include "comm/ring/fabric.hpp"
#include "core/error.hpp"

namespace {

enum class PutFault { none, lose, damage, refuse };
PutFault fault = PutFault::none;  // NOLINT: MPI_Put has no other way to know

}  // namespace

extern "C" int MPI_Put(const void* source, int count, MPI_Datatype type, int target, MPI_Aint place,
                       int target_count, MPI_Datatype target_type, MPI_Win window) {
  if (fault == PutFault::lose) return MPI_SUCCESS;
  if (fault == PutFault::refuse) return MPI_ERR_RMA_RANGE;
  if (fault == PutFault::damage && type == MPI_BYTE) {
    static std::vector<char> copy;
    copy.assign(static_cast<const char*>(source), static_cast<const char*>(source) + count);
    copy.at(copy.size() / 2) ^= 1;
    source = copy.data();
  }
  return PMPI_Put(source, count, type, target, place, target_count, target_type, window);
}

namespace satrap::comm {
namespace {

/// The message of the error that making a ring from each rank to the next ends in. All ranks see
/// the fault, so that none waits for another.
std::string start_up_error(const Communicator& world, PutFault with) {
  std::vector<Link> links;
  for (int r = 0; r < world.size(); ++r) {
    links.push_back({WorldRank{r}, WorldRank{(r + 1) % world.size()}, 65536});
  }
  fault = with;
  std::string message;
  try {
    const Fabric fabric(world, links, 0);
  } catch (const InternalError& error) {
    message = error.what();
  }
  fault = PutFault::none;
  world.barrier();
  return message;
}

int previous(const Communicator& world) {
  return (world.rank() + world.size() - 1) % world.size();
}
int next(const Communicator& world) {
  return (world.rank() + 1) % world.size();
}

TEST(Faults, NoneIsFound) {
  EXPECT_EQ(start_up_error(Communicator::world(), PutFault::none), "");
}

TEST(Faults, LostPutsAreNamedAtStart) {
  const auto world = Communicator::world();
  const auto message = start_up_error(world, PutFault::lose);
  EXPECT_EQ(
      message.find(fmt::format("MPI did not deliver what rank {} put into the window of rank {}",
                               next(world), world.rank())),
      0U)
      << message;
  EXPECT_NE(message.find("OMPI_MCA_osc"), message.npos) << message;
}

TEST(Faults, DamagedPutsAreNamedAtStart) {
  const auto world = Communicator::world();
  const auto message = start_up_error(world, PutFault::damage);
  EXPECT_EQ(
      message.find(fmt::format("MPI did not deliver what rank {} put into the window of rank {}",
                               previous(world), world.rank())),
      0U)
      << message;
  EXPECT_NE(message.find("at byte 8184 of 16376"), message.npos) << message;
}

TEST(Faults, RefusedPutsSayWhereAndWhy) {
  const auto message = start_up_error(Communicator::world(), PutFault::refuse);
  EXPECT_EQ(message.find("MPI_Put("), 0U) << message;
  EXPECT_NE(message.find("MPI_ERR_RMA_RANGE"), message.npos) << message;
  EXPECT_NE(message.find("src/comm/mpi/window.cpp:"), message.npos) << message;
}

}  // namespace
}  // namespace satrap::comm
