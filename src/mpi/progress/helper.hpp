// A thread of Hob's own that advances its things while threads of the program are blocked inside an
// MPI library that does not call back. Only with MPI_THREAD_MULTIPLE.
#pragma once

namespace hob::mpi::helper {

/// A thread of the program is about to block inside the library, or no longer.
void enter();
void leave();

/// Something is under way: if a thread is blocked, the helper works. It is made at its first use.
void call();

/// Ends it. MPI is still there.
void end();

}  // namespace hob::mpi::helper
