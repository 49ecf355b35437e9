// Large messages and collective operations whose calls take long by themselves: MPICH copies all of
// a message into the socket in MPI_Isend. Where such a call took long before, the thread of overlap
// makes it in the program's place while that computes.
//
// Whatever the program calls next makes what is left first, in its order, so that nothing passes it
// and nothing that it needs is freed. Only receives and further starts of this kind do not.
#pragma once

#include <cstdint>
#include <functional>
#include <new>

#include "base/clock.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/progress/overlap.hpp"
#include "overlap/start_history.hpp"

namespace hob::mpi::requests {

/// The library's call, with a place for its request.
using StartCall = std::function<int(MPI_Request*)>;

/// Whether this start is to be left to the thread.
bool leaves_to_thread(const overlap::Start& start);

/// Leaves it to the thread, and returns the program's request for it. Throws std::bad_alloc.
MPI_Request postpone(const overlap::Start& start, MPI_Comm comm, StartCall call);

/// The program has made it itself, in so many ticks.
void note_start(const overlap::Start& start, std::uint64_t ticks);

/// overlap_thread::start(), `make`.
void make_postponed(bool beside);

/// For wrappers: a call that starts a communication, which may be `large` enough. `now` makes it,
/// hooks included; `later` is the library's own call.
template <class Now, class Later>
int start(bool large, const overlap::Start& start, MPI_Comm comm, MPI_Request* request, Now now,
          Later later) {
  if (large && request && HOB_UNLIKELY(leaves_to_thread(start))) {
    try {
      *request = postpone(start, comm, later);
      return MPI_SUCCESS;
    } catch (const std::bad_alloc&) {
      // It is made now.
    }
  }
  overlap_thread::make_pending();
  if (!large) return now();
  const std::uint64_t began = ticks();
  const int error = now();
  if (error == MPI_SUCCESS) note_start(start, ticks() - began);
  return error;
}

}  // namespace hob::mpi::requests
