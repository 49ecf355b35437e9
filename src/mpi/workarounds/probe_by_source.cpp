#include "mpi/workarounds/probe_by_source.hpp"

#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

int improbe_by_source(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
                      MPI_Status* status) {
  if (source == MPI_ANY_SOURCE) {
    MPI_Status first;
    const int error = real::Iprobe(source, tag, comm, flag, &first);
    if (error != MPI_SUCCESS || !*flag) return error;
    source = first.MPI_SOURCE;
    tag = first.MPI_TAG;
  }
  return real::Improbe(source, tag, comm, flag, message, status);
}

}  // namespace hob::mpi
