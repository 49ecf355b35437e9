// What the launcher says of the job, beside what the MPI library says.
#pragma once

namespace hob::mpi {

/// Says so on standard error, once for the job, where the launcher started several tasks and MPI
/// made a job of one rank of each: then launcher and library do not speak the same protocol. To be
/// called after MPI was initialised, with the size of MPI_COMM_WORLD.
void warn_of_singletons(int world_size);

}  // namespace hob::mpi
