// Puts that are at their target when a flush returns, where the network does not see to it: MPICH
// 5.0.2 over libfabric's tcp provider (pmodels/mpich, pull request 6310).
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// libfabric's tcp provider counts short writes as complete when they are sent, and MPICH returns
/// from MPI_Win_flush then: a third process may read the old bytes. A put with a request is
/// no such write. From now on, short puts of this process are made so, where the setting
/// complete_puts says so, processes of several nodes are at least three, and nothing says that the
/// network is another one. Between two processes the connection keeps the order. After MPI_Init,
/// while no other thread calls MPI.
void complete_puts();

/// MPI_Put, of any length, made so on such a network whatever setting and number of processes say:
/// a ghost is a third process. One thread at a time.
int put_at_target(const void* from, MPI_Count count, MPI_Datatype type, int target,
                  MPI_Aint displacement, MPI_Count target_count, MPI_Datatype target_type,
                  MPI_Win win);

/// Says in the report that it was done. Before the report is written.
void note_complete_puts();

}  // namespace hob::mpi
