// What a call returns once an error handler of the program's has seen its error.
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// The error handler of this window has been called with `code` and has returned: what the MPI
/// library's own call would return now. MPI says the code; MPICH says success since version 4.3,
/// where the handler is one of the program's. Thread safe as MPI_Comm_dup.
int after_handler(MPI_Win win, int code);

}  // namespace hob::mpi
