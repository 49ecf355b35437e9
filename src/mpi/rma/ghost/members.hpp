// Processes of a window as ranks of Hob's internal communicator.
#pragma once

#include <vector>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Of all members of a group, in its order; MPI_UNDEFINED for processes of other jobs.
std::vector<int> internal_ranks(MPI_Group group);

}  // namespace hob::mpi
