// MPICH's MPIX_Request_is_complete, with requests of Hob's.
#include "mpi/core/acquires.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/requests/may_learn.hpp"
#include "mpi/requests/request.hpp"

#if HOB_HAS_X_REQUEST_IS_COMPLETE

namespace hob::mpi {
namespace {

bool is_complete(MPI_Request request) {
  Operation* operation = requests::find(request);
  if (!operation) {
    if (real::X_Request_is_complete(request) == 0) return false;
    // Parts of Hob hear of it before the program may use the buffer. This makes no progress.
    int flag = 1;
    if (!requests::unknown(request)) on_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }
  if (!operation->active()) return true;
  // The program asks from within the library's progress, too, where nothing may be tested.
  const MPI_Request rest = operation->missing();
  return rest != MPI_REQUEST_NULL ? real::X_Request_is_complete(rest) != 0 : operation->ready();
}

}  // namespace

int on_X_Request_is_complete(MPI_Request request) {
  const requests::MayLearn may_learn(1, &request, false);
  const bool complete = is_complete(request);
  if (complete && may_learn.all()) note_acquire("MPIX_Request_is_complete");
  return complete;
}

}  // namespace hob::mpi

#endif
