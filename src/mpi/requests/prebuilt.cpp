#include "mpi/requests/prebuilt.hpp"

#include <atomic>

#include "mpi/core/context.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/requests/known.hpp"

namespace hob::mpi::requests {

bool seeks_prebuilt() {
  constexpr int kTries = 4;
  return many_threads && state.prebuilt_tries.load(std::memory_order_relaxed) < kTries &&
         state.prebuilt.load(std::memory_order_relaxed) == 0 &&
         library::has_prebuilt_requests(context().mpi_version) &&
         state.prebuilt_tries.fetch_add(1, std::memory_order_relaxed) < kTries;
}

void settle_prebuilt(MPI_Request first, MPI_Request second) {
  int complete = 0;
  // One handle for two requests that are alive says nothing of either.
  if (first == second &&
      real::Request_get_status(first, &complete, MPI_STATUS_IGNORE) == MPI_SUCCESS && complete) {
    state.prebuilt.store(handle_bits(first), std::memory_order_relaxed);
    while (look_up(first).observer == &no_observer()) take(first);
  }
  real::Wait(&second, MPI_STATUS_IGNORE);
}

}  // namespace hob::mpi::requests
