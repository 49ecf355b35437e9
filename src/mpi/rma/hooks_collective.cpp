// Collective calls that are more than the library's own.
#include "mpi/pmpi/hooks.hpp"
#include "mpi/rma/joint_acquire.hpp"

namespace hob::mpi {

int on_Barrier(MPI_Comm comm) { return JointAcquire::barrier(comm); }

}  // namespace hob::mpi
