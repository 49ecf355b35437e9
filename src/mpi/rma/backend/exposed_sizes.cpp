#include "mpi/rma/backend/exposed_sizes.hpp"

#include "mpi/rma/backend/numbers_of_ranks.hpp"

namespace hob::mpi {

void ExposedSizes::gather(std::uint64_t own, std::uint64_t smallest, std::uint64_t largest,
                          MPI_Comm comm) {
  sizes_ = smallest == largest ? PerRank(own) : gather_numbers(own, comm);
}

}  // namespace hob::mpi
