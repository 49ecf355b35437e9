#include "mpi/core/broadcast.hpp"

#include <cstring>

#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

void broadcast(void* data, std::size_t bytes, MPI_Comm comm) {
  int rank = 0;
  real::Comm_rank(comm, &rank);
  if (rank != 0) std::memset(data, 0, bytes);
  real::Allreduce(MPI_IN_PLACE, data, static_cast<int>(bytes), MPI_BYTE, MPI_BOR, comm);
}

}  // namespace hob::mpi
