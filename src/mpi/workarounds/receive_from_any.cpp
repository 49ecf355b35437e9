#include "mpi/workarounds/receive_from_any.hpp"

#include "mpi/pmpi/real.hpp"
#include "mpi/progress/ucx.hpp"

namespace hob::mpi {
namespace {

/// Of a message that has come; a null request if there is none.
int receive_unexpected(void* buffer, int bytes, int tag, MPI_Comm comm, MPI_Request* request) {
  *request = MPI_REQUEST_NULL;
  int flag = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  const int error = real::Improbe(MPI_ANY_SOURCE, tag, comm, &flag, &message, MPI_STATUS_IGNORE);
  if (error != MPI_SUCCESS || !flag) return error;
  return real::Imrecv(buffer, bytes, MPI_BYTE, &message, request);
}

}  // namespace

int receive_from_any(void* buffer, int bytes, int tag, MPI_Comm comm, MPI_Request* request) {
  if (!ucx::serves())
    return real::Irecv(buffer, bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, request);
  const ucx::Standstill standstill;
  const int error = receive_unexpected(buffer, bytes, tag, comm, request);
  if (error != MPI_SUCCESS || *request != MPI_REQUEST_NULL) return error;
  return real::Irecv(buffer, bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, request);
}

}  // namespace hob::mpi
