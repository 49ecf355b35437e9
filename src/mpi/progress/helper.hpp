// A task of the progress thread that advances Hob's things while threads of the program are blocked
// inside an MPI library that does not call back. Only with MPI_THREAD_MULTIPLE.
#pragma once

namespace hob::mpi::helper {

/// Before the first blocked call. Not thread safe: called while MPI starts.
void prepare();

/// Something is under way: if a thread is blocked, the helper works. It begins at its first use.
void call();

/// A thread of the program is about to block inside the library, or no longer. Without memory for a
/// thread's first call, the process ends: what is under way might wait for ever.
void enter() noexcept;
void leave() noexcept;

/// Ends it. MPI is still there.
void end();

}  // namespace hob::mpi::helper
