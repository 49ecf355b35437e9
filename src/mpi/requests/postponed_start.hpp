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

/// What a library looks at of the buffers that a start has: null, where the call has one alone.
inline unsigned kind_of_buffers(const void* one, const void* other) {
  const auto bit = [](bool is, int place) { return static_cast<unsigned>(is) << place; };
  const void* const in_place = MPI_IN_PLACE;
  return bit(one == nullptr, 0) | bit(one == in_place, 1) | bit(other == nullptr, 2) |
         bit(other == in_place, 3) | bit(one == other, 4);
}

/// Whether this start, with this tag (0: none), is to be left to the thread. Not where the library
/// may refuse it: the program's call is to return the error.
bool leaves_to_thread(const overlap::Start& start, int tag);

/// Ends of handles (lifecycle/parts.hpp): the library may give the same to other objects.
void forget_starts_on(MPI_Comm comm);
void forget_starts_of(MPI_Datatype datatype);
void forget_starts();

/// Leaves it to the thread, and returns the program's request for it. Throws std::bad_alloc.
MPI_Request postpone(const overlap::Start& start, MPI_Comm comm, StartCall call);

/// The program has made it itself, in so many ticks.
void note_start(const overlap::Start& start, std::uint64_t ticks);

/// overlap_thread::start(), `make`.
void make_postponed(bool by_thread);

/// For wrappers: a call that starts a communication, which may be `large` enough. `now` makes it,
/// hooks included; `later` is the library's own call.
template <class Now, class Later>
int start(bool large, const overlap::Start& start, int tag, MPI_Comm comm, MPI_Request* request,
          Now now, Later later) {
  if (large && request && HOB_UNLIKELY(leaves_to_thread(start, tag))) {
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
  if (error == MPI_SUCCESS && !error_unreported()) note_start(start, ticks() - began);
  return error;
}

}  // namespace hob::mpi::requests
