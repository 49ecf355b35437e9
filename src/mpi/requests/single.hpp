// One request: the library's own or an operation of Hob's. Private to the request layer.
#pragma once

#include "mpi/pmpi/real.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/requests/known.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi::requests {

/// Nothing of Hob's is behind these requests, and nothing needs care while the library waits.
inline bool only_native(int count, const MPI_Request* handles) {
  return !blocking_needs_care() && all_unknown(count, handles);
}
inline bool only_native(MPI_Request handle) { return !blocking_needs_care() && unknown(handle); }

/// Nothing of Hob's is behind any request; some of the library's may be watched.
inline bool only_watched() {
  return state.operations.load(std::memory_order_relaxed) == 0 && !blocking_needs_care();
}

/// Waits for requests of the library's; Hob's things advance where the library does not call back.
int native_wait(MPI_Request* request, MPI_Status* status);
int native_waitall(int count, MPI_Request* requests, MPI_Status* statuses);

/// Waits until one of Hob's operations is complete. `nearly`: or only the library has to go on.
void wait_for(Operation& operation, bool nearly);

/// The program has heard that one of Hob's operations is complete.
[[gnu::always_inline]] inline void end(MPI_Request* request, Operation& operation) {
  if (!operation.persistent()) {
    forget(*request, operation);
    *request = MPI_REQUEST_NULL;
  }
  operation.retire();
}

/// The status and the error code of one of Hob's operations that is ready.
inline int result_of(Operation& operation, MPI_Status* status) {
  MPI_Status unused;
  return operation.result(status == MPI_STATUS_IGNORE ? &unused : status);
}

/// The program hears that one of Hob's operations is complete.
inline int finish(MPI_Request* request, Operation& operation, MPI_Status* status) {
  const int error = result_of(operation, status);
  end(request, operation);
  return error;
}

}  // namespace hob::mpi::requests
