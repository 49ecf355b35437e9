// Communicators that end: every part may know something of them.
#include "mpi/lifecycle/parts.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

int end_of(MPI_Comm* comm, int (*end)(MPI_Comm*)) {
  if (!comm) return end(comm);
  const MPI_Comm before = *comm;
  at(&Part::communicator_ends, before);
  const int error = end(comm);
  at(error == MPI_SUCCESS ? &Part::communicator_ended : &Part::communicator_stays, before);
  return error;
}

}  // namespace

int on_Comm_free(MPI_Comm* comm) { return end_of(comm, real::Comm_free); }

int on_Comm_disconnect(MPI_Comm* comm) { return end_of(comm, real::Comm_disconnect); }

#if HOB_HAS_X_THREADCOMM_FREE
int on_X_Threadcomm_free(MPI_Comm* comm) { return end_of(comm, real::X_Threadcomm_free); }
#endif

}  // namespace hob::mpi
