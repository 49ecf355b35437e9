// What programs ask of MPI that Hob cannot serve, and for which it is off.
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// A communicator that only one of the program's threads may use (MPIX_Stream_comm_create), or
/// whose ranks are threads (MPIX_Threadcomm_init), or a copy of one: never used by Hob.
bool belongs_to_threads(MPI_Comm comm);

/// The job was started to survive the failure of processes (Open MPI's mpiexec --with-ft). What
/// needs all processes, or any source, is off. The same in all processes. After MPI was
/// initialised.
bool survives_failures();

/// An object of this process refers to a function whose name has `part`, in any case: C and
/// Fortran. The MPI library and Hob do not count.
bool program_refers_to(const char* part);

}  // namespace hob::mpi
