// Dividing the processes of a job into application ranks and ghosts.
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Right after MPI_Init, if settings.ghosts > 0: divides the processes. In application ranks it
/// returns the communicator that stands for MPI_COMM_WORLD; ghosts serve and never return.
/// MPI_COMM_NULL where there are to be no ghosts (a spawned world, or setting 0). Collective over
/// MPI_COMM_WORLD.
MPI_Comm divide_world();

}  // namespace hob::mpi
