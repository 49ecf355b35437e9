// MPICH over UCX: every wait inside the library, window synchronisation included, calls
// ucp_worker_progress through the dynamic linker. Hob stands before it.
#pragma once

namespace hob::mpi::ucx {

/// A function of the UCX library behind Hob; a library without it ends the process with a message.
void* find_or_abort(const char* name);

using Progress = unsigned (*)(void* worker);

/// UCX's own ucp_worker_progress.
Progress library_progress();

/// What the library's calls of ucp_worker_progress reach from now on.
void redirect_progress(Progress to);

/// Whether this process's MPI library uses UCX, and Hob stands before it. Others may use UCX, too.
bool serves();

/// Whether a function of the MPI library called, by the address that it returns to.
bool is_library(const void* caller);

/// The MPI library has made a worker.
void library_has_worker(bool has);

/// While one lives, the library's calls of ucp_worker_progress do nothing. One at a time, in a
/// process one of whose threads calls MPI.
class Standstill {
 public:
  Standstill();
  ~Standstill();
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;

 private:
  [[maybe_unused]] Progress before_;  // without UCX, it is not read
};

/// Whether UCX is in the process at all, so that the library may use it.
bool present();

}  // namespace hob::mpi::ucx
