#include "mpi/requests/single.hpp"

#include "mpi/pmpi/real.hpp"

namespace hob::mpi::requests {

int native_wait(MPI_Request* request, MPI_Status* status) {
  if (!blocking_needs_care()) {
    const Blocking blocking;
    return real::Wait(request, status);
  }
  Pause pause;
  for (;;) {
    int flag = 0;
    const int error = real::Test(request, &flag, status);
    if (flag || error != MPI_SUCCESS) return error;
    advance();
    pause();
  }
}

int native_waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (!blocking_needs_care()) {
    const Blocking blocking;
    return real::Waitall(count, requests, statuses);
  }
  Pause pause;
  for (;;) {
    int flag = 0;
    const int error = real::Testall(count, requests, &flag, statuses);
    if (flag || error != MPI_SUCCESS) return error;
    advance();
    pause();
  }
}

void wait_for(Operation& operation, bool nearly) {
  Pause pause;
  const auto done = [&] { return nearly ? operation.left_to_library() : operation.ready(); };
  if (done()) return;
  operation.awaited();
  while (!done()) {
    advance();
    pause();
  }
}

}  // namespace hob::mpi::requests
