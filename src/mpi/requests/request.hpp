// Requests: the program's handles behind which Hob works, and completions of the library's own
// requests that a part of Hob wants to hear of. Cache, ghosts and matching share this layer.
// With neither alive, every wait and test is one branch and the library's own call.
#pragma once

#include <cstdint>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/requests/lookup.hpp"
#include "mpi/requests/operation.hpp"

namespace hob::mpi {
namespace requests {

/// A handle for an operation of Hob's: a real request of the library, from a pool. Throws
/// std::bad_alloc. The handle is given back when the operation is complete or freed, or it is the
/// operation's for good.
MPI_Request add(Operation& operation);

/// An operation that is_event_driven() may be ready() from now on; and no longer, before it is used
/// again or destroyed. Calls are serialised by the caller.
void signal(Operation& operation);
void end_signal(Operation& operation);

/// Such a one, if persistent, has been started, or has become inactive.
void now_active(const Operation& operation);
void now_inactive(const Operation& operation);

/// Lets MPI_Start of a handle that the library made (a persistent request) ask Hob's operation,
/// until the program frees it: Hob frees the library's request then, too. Waits and tests are the
/// library's own unless the operation stands behind the handle. Throws std::bad_alloc.
void start_through(MPI_Request handle, Operation& operation);
/// The library has freed it.
void no_longer_start_through(MPI_Request handle);
/// Lets the operation stand behind such a handle, until withdraw(). Not while it is active.
void stand_behind(MPI_Request handle, Operation& operation);

/// Notifies `observer` when this request of the library's is complete. One observer per request.
void watch(MPI_Request handle, CompletionObserver& observer, std::uint64_t cookie);

/// Says of a request that the library has just made that by its completion nothing is learned of
/// other processes' writes. Throws std::bad_alloc.
void mark_no_acquire(MPI_Request handle);
/// The same. Without memory, its completion counts as an acquire.
void note_no_acquire(MPI_Request handle) noexcept;

/// The operation behind a handle, or null.
Operation* find(MPI_Request handle);

/// Nothing stands behind it any more: a handle from add() that the program was never given, or one
/// of stand_behind().
void withdraw(MPI_Request handle);

/// Waits for one request of any kind while Hob's own things advance.
int wait(MPI_Request* request, MPI_Status* status);

/// Tests one request of any kind; nothing else of Hob's advances.
int test(MPI_Request* request, int* flag, MPI_Status* status);

/// The library's status of a null or inactive request.
const MPI_Status& empty_status();

/// Copies a status, without its error field.
inline void copy_status(const MPI_Status& from, MPI_Status* to) {
  if (to == MPI_STATUS_IGNORE) return;
  const int error = to->MPI_ERROR;
  *to = from;
  to->MPI_ERROR = error;
}

/// Lets the library advance, others' operations on this process included. Needs no communicator,
/// which a program of sessions may not have. Threads may call it at once.
void drive_progress();

/// Whether a request that the program has started is complete, without any other effect on it.
/// False: it is not, or more than the library's part is missing, or the library does not say.
bool seen_complete(MPI_Request request);

/// Before MPI ends: gives the pool's handles back.
void release_handles();

}  // namespace requests
}  // namespace hob::mpi
