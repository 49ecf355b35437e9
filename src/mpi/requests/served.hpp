// Requests of operations that were complete when their call returned.
#pragma once

#include "mpi/core/handle.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/requests/state.hpp"

namespace hob::mpi::requests {

/// The handle of such a request: complete from the start. All have the same one. MPI_REQUEST_NULL,
/// which is complete, too, if there is no memory for it. By its completion nothing is learned of
/// other processes' writes. Thread safe.
MPI_Request served();

/// Whether the program waits for such requests only, or null ones, so that it does not block.
inline bool all_served(int count, const MPI_Request* requests) {
  if (!requests) return count == 0;
  for (int i = 0; i < count; ++i)
    if (requests[i] != MPI_REQUEST_NULL &&
        handle_bits(requests[i]) != state.served.load(std::memory_order_relaxed))
      return false;
  return true;
}

}  // namespace hob::mpi::requests
