#include "fake_errors.hpp"

#include "fake_mpi.hpp"
#include "mpi/pmpi/real.hpp"

namespace fake {
namespace {

MPI_Win_errhandler_function* last_handler = nullptr;

FAKE(Win_create_errhandler, MPI_Win_errhandler_function* handler, MPI_Errhandler* errhandler) {
  last_handler = handler;
  *errhandler = static_cast<int>(0x94000001);
  return MPI_SUCCESS;
}

}  // namespace

void raise(MPI_Win win, int error) { last_handler(&win, &error); }

}  // namespace fake
