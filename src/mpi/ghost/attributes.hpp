// Attributes that the program has on MPI_COMM_WORLD and MPI_COMM_SELF, with ghosts.
#pragma once

namespace hob::mpi {

/// The library deletes the attributes of MPI_COMM_WORLD in MPI_Finalize; from now on it does so
/// with those of the communicator that stands for it. Called once, by application ranks.
void delete_attributes_at_finalize();

/// MPI_Finalize begins with the attributes of MPI_COMM_SELF, those that were set last first; their
/// callbacks may use everything, ghosts too. But MPICH waits for all processes, ghosts included,
/// ahead of that: so they are deleted here, before the ghosts are dismissed.
void delete_attributes_of_self();

}  // namespace hob::mpi
