#include "comm/mpi/open_mpi.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace satrap::comm {
namespace {

using testing::Contains;
using testing::Not;

MATCHER_P2(Sets, variable, value, "") {
  return arg.variable == variable && arg.value == value;
}

constexpr HostFacts kEthernet{
    .infiniband = false, .copies_from_peers = true, .local_ranks = 4, .cores = 16};

TEST(OpenMpiDefaults, EthernetGetsComponentsThatWorkOverTcp) {
  EXPECT_THAT(open_mpi_defaults(kEthernet), Contains(Sets("OMPI_MCA_osc", "^ucx,rdma")));
}

TEST(OpenMpiDefaults, InfinibandKeepsOpenMpisChoice) {
  auto host = kEthernet;
  host.infiniband = true;
  EXPECT_THAT(open_mpi_defaults(host), Not(Contains(Sets("OMPI_MCA_osc", "^ucx,rdma"))));
}

TEST(OpenMpiDefaults, YieldsWhereRanksAndTheirComputeThreadsShareCores) {
  const auto yields = Contains(Sets("OMPI_MCA_mpi_yield_when_idle", "1"));
  auto host = kEthernet;
  EXPECT_THAT(open_mpi_defaults(host), Not(yields));
  host.local_ranks = 9;
  EXPECT_THAT(open_mpi_defaults(host), yields);
}

TEST(OpenMpiDefaults, ContainersThatForbidCopiesBetweenProcesses) {
  const auto copies = Contains(Sets("OMPI_MCA_btl_vader_single_copy_mechanism", "none"));
  auto host = kEthernet;
  EXPECT_THAT(open_mpi_defaults(host), Not(copies));
  host.copies_from_peers = false;
  EXPECT_THAT(open_mpi_defaults(host), copies);
}

TEST(OpenMpiDefaults, TheUsersSettingsWin) {
  setenv("SATRAP_TEST_SET", "user", 1);
  unsetenv("SATRAP_TEST_UNSET");
  set_in_environment({{"SATRAP_TEST_SET", "default"}, {"SATRAP_TEST_UNSET", "default"}});
  EXPECT_STREQ(std::getenv("SATRAP_TEST_SET"), "user");
  EXPECT_STREQ(std::getenv("SATRAP_TEST_UNSET"), "default");
}

TEST(OpenMpiDefaults, ComponentsAreAllowedAsOpenMpiReadsTheList) {
  const auto allows = [](const char* list, const char* name) {
    setenv("OMPI_MCA_osc", list, 1);
    return allows_osc(name);
  };
  EXPECT_TRUE(allows("", "sm"));
  EXPECT_TRUE(allows("^ucx,rdma", "sm"));
  EXPECT_FALSE(allows("^ucx,rdma", "rdma"));
  EXPECT_FALSE(allows("^sm", "sm"));
  EXPECT_TRUE(allows("pt2pt,sm", "sm"));
  EXPECT_FALSE(allows("pt2pt", "sm"));
  EXPECT_FALSE(allows("smaller", "sm"));
  unsetenv("OMPI_MCA_osc");
  EXPECT_TRUE(allows_osc("sm"));
}

TEST(OpenMpiDefaults, FactsOfThisHostAreKnown) {
  const auto host = host_facts();
  EXPECT_GE(host.cores, 1);
  EXPECT_GE(host.local_ranks, 1);
}

}  // namespace
}  // namespace satrap::comm
