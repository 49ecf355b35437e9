// A fault of MPICH over UCX (4.1 to 5.0.2): a receive from MPI_ANY_SOURCE that is posted when UCX
// has its message already never completes, where a node has several processes. MPIDI_NM_mpi_irecv
// connects the two requests of such a receive, UCX's and that of shared memory, after UCX has
// called back. Pull requests 6027 and 7217 of pmodels/mpich are about the same gap with a progress
// thread and with libfabric.
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// MPI_Irecv of bytes from any source. Over UCX, messages that came before it are probed for, while
/// UCX brings in no others. For a process one of whose threads calls MPI.
int receive_from_any(void* buffer, int bytes, int tag, MPI_Comm comm, MPI_Request* request);

}  // namespace hob::mpi
