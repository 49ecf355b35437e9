// Finds out which targets of a window the MPI library reaches by loads and stores.
#pragma once

#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {

/// Of a window that the library made with this info and communicator: those of this node if its
/// memory is shared; none if the user wants all gets looked up. Local. A wrong answer costs time
/// and nothing else.
NearTargets near_targets_of(const Window& window, MPI_Info info, MPI_Comm comm);

}  // namespace hob::mpi
