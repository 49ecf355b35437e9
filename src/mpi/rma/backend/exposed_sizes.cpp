#include "mpi/rma/backend/exposed_sizes.hpp"

#include <vector>

#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

void ExposedSizes::gather(std::uint64_t own, std::uint64_t smallest, std::uint64_t largest,
                          MPI_Comm comm) {
  sizes_ = PerRank(own);
  if (smallest == largest) return;
  int size = 0;
  real::Comm_size(comm, &size);
  std::vector<std::uint64_t> each(static_cast<std::size_t>(size));
  real::Allgather(&own, 1, MPI_UINT64_T, each.data(), 1, MPI_UINT64_T, comm);
  sizes_ = PerRank(each);
}

}  // namespace hob::mpi
