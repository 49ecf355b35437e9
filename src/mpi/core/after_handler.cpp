#include "mpi/core/after_handler.hpp"

#include "mpi/core/context.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

void no_error_handler(MPI_Comm*, int*, ...) {}

/// Asks the library: an error of its own, seen by a handler that returns.
bool library_returns_success() {
  if (!context().world) return false;  // sessions have no communicator to ask with
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (real::Comm_dup(MPI_COMM_SELF, &comm) != MPI_SUCCESS) return false;
  int result = MPI_ERR_OTHER;
  if (real::Comm_create_errhandler(no_error_handler, &handler) == MPI_SUCCESS) {
    real::Comm_set_errhandler(comm, handler);
    result = real::Send(nullptr, 0, MPI_BYTE, 1, 0, comm);  // to a rank that there is not
    real::Errhandler_free(&handler);
  }
  real::Comm_free(&comm);
  return result == MPI_SUCCESS;
}

}  // namespace

int after_handler(MPI_Win win, int code) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (real::Win_get_errhandler(win, &handler) != MPI_SUCCESS) return code;
  if (handler == MPI_ERRORS_RETURN || handler == MPI_ERRHANDLER_NULL) return code;
  real::Errhandler_free(&handler);
  static const bool success = library_returns_success();
  return success ? MPI_SUCCESS : code;
}

}  // namespace hob::mpi
