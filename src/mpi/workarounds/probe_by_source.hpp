// A fault of MPICH 5 over libfabric: it crashes when a message that MPI_Improbe found with
// MPI_ANY_SOURCE is received into a datatype with gaps.
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// MPI_Improbe. With MPI_ANY_SOURCE it asks first who sent the message, and probes for that source.
int improbe_by_source(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                      MPI_Status* status);

}  // namespace hob::mpi
