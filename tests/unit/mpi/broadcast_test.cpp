// What rank 0 knows reaches all by a reduction.
#include "mpi/core/broadcast.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "fake_mpi.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

TEST(Broadcast, IsAReductionToWhichOthersAddNothing) {
  fake::reset();
  int rank = -1;
  real::Comm_rank(MPI_COMM_WORLD, &rank);
  std::uint64_t value = 0x0102'0304'0506'0708;
  broadcast(&value, sizeof value, MPI_COMM_WORLD);
  EXPECT_EQ(value, rank == 0 ? 0x0102'0304'0506'0708u : 0u);
  EXPECT_EQ(fake::calls("Allreduce"), 1u);
  EXPECT_EQ(fake::calls("Bcast"), 0u) << "it slows later messages of Open MPI";
}

}  // namespace
}  // namespace hob::mpi
