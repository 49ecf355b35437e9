// Closing UCX connections at the end of MPI, so that it always ends.
//
// MPICH up to 4.1 closes its connections in MPI_Finalize (ucp_disconnect_nb), waits until they are
// closed, and enters the process manager's barrier, in which it drives no progress. Closing may
// need the peer's progress (over TCP, where one-sided operations are acknowledged): a process whose
// peer is already in that barrier waits for ever. While MPI ends, a thread of Hob's drives the
// progress of the MPI library's UCX workers from the first closed connection until they are
// destroyed, barrier included. The barrier went with pull request 6596 of pmodels/mpich.
#pragma once

namespace hob::mpi::ucx {

/// Lives around the MPI library's own finalisation. Elsewhere connections are closed as without
/// Hob. Not thread safe: MPI allows one thread there.
class Finalizing {
 public:
  Finalizing();
  ~Finalizing();
  Finalizing(const Finalizing&) = delete;
  Finalizing& operator=(const Finalizing&) = delete;
};

}  // namespace hob::mpi::ucx
