// MPICH over UCX: every wait inside the library, window synchronisation included, calls
// ucp_worker_progress through the dynamic linker. Hob stands before it.
#pragma once

namespace hob::mpi::ucx {

/// Whether this process's MPI library has called it.
bool serves();

}  // namespace hob::mpi::ucx
