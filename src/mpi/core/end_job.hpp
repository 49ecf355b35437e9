// How Hob ends a job.
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Ends the job of the communicator with this status, after a message on standard error: a launcher
/// may throw away what it has not read yet when it hears of the end (MPICH's does), so it gets a
/// fifth of a second.
[[noreturn]] void end_job(MPI_Comm comm, int status);

}  // namespace hob::mpi
