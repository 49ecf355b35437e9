// Error handlers of the fake library's windows.
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace fake {

/// Calls what was given to MPI_Win_create_errhandler last, as a library does in a call that fails.
void raise(MPI_Win win, int error);

}  // namespace fake
