// Attributes that the program has on MPI_COMM_WORLD.
#pragma once

namespace hob::mpi {

/// The library deletes the attributes of MPI_COMM_WORLD in MPI_Finalize; from now on it does so
/// with those of the communicator that stands for it. Once, in users.
void delete_attributes_at_finalize();

}  // namespace hob::mpi
