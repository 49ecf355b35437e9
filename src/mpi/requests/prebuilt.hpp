// The one request that MPICH gives to all one-sided operations that are complete when their call
// returns: those on the own rank and on ranks of the node. Nothing is learned of other processes'
// writes from its completion, so that it is not noted. Only looked for in programs with several
// threads: in others, Hob sleeps where nothing else is issued.
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi::requests {

/// Whether an operation that was given a request is to be followed by an empty one, whose request
/// settle_prebuilt() compares. A few times in a program. Thread safe.
bool seeks_prebuilt();

/// `first` is alive and nothing is noted of it; `second` was made after it, and ends here.
void settle_prebuilt(MPI_Request first, MPI_Request second);

}  // namespace hob::mpi::requests
