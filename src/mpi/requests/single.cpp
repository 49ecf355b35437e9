#include "mpi/requests/single.hpp"

#include "mpi/pmpi/real.hpp"

namespace hob::mpi::requests {

int native_wait(MPI_Request* request, MPI_Status* status) {
  if (!blocking_needs_care()) {
    const Blocking blocking;
    return real::Wait(request, status);
  }
  return advance_until_found([&](int* flag) { return real::Test(request, flag, status); });
}

int native_waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (!blocking_needs_care()) {
    const Blocking blocking;
    return real::Waitall(count, requests, statuses);
  }
  return advance_until_found(
      [&](int* flag) { return real::Testall(count, requests, flag, statuses); });
}

void wait_for(Operation& operation, bool nearly) {
  const auto done = [&] { return nearly ? operation.left_to_library() : operation.ready(); };
  if (operation.completed_by_wait) operation.complete();
  if (done()) return;
  operation.awaited();
  advance_until(done);
}

}  // namespace hob::mpi::requests
