// What rank 0 knows, for all.
#pragma once

#include <cstddef>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// As MPI_Bcast from rank 0. In Open MPI 5.0, the first MPI_Bcast of a process makes each of its
/// later small messages within a node take 1.3 times as long, and a program that makes none is not
/// to have that from Hob; a reduction does not. Collective; bytes: less than 2 GiB.
void broadcast(void* data, std::size_t bytes, MPI_Comm comm);

}  // namespace hob::mpi
