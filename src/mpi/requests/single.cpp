#include "mpi/requests/single.hpp"

#include "mpi/pmpi/real.hpp"

namespace hob::mpi::requests {

namespace {

/// Hob's things advance until test(&flag) says that the library's requests are complete.
template <class Test>
int advance_until(Test&& test) {
  Pause pause;
  for (;;) {
    int flag = 0;
    const int error = test(&flag);
    if (flag || error != MPI_SUCCESS) return error;
    advance();
    pause();
  }
}

}  // namespace

int native_wait(MPI_Request* request, MPI_Status* status) {
  if (!blocking_needs_care()) {
    const Blocking blocking;
    return real::Wait(request, status);
  }
  return advance_until([&](int* flag) { return real::Test(request, flag, status); });
}

int native_waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (!blocking_needs_care()) {
    const Blocking blocking;
    return real::Waitall(count, requests, statuses);
  }
  return advance_until([&](int* flag) { return real::Testall(count, requests, flag, statuses); });
}

void wait_for(Operation& operation, bool nearly) {
  Pause pause;
  const auto done = [&] { return nearly ? operation.left_to_library() : operation.ready(); };
  if (operation.completed_by_wait) operation.complete();
  if (done()) return;
  operation.awaited();
  while (!done()) {
    advance();
    pause();
  }
}

}  // namespace hob::mpi::requests
