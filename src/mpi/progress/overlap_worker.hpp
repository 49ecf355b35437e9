// The thread of overlap.hpp: when it polls, and what it does in the library.
#pragma once

#include <cstdint>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi::overlap_thread::worker {

/// Asks the system for the fence. `share`: of one processor, for polls that find nothing. `drive`
/// lets the library advance where Hob has no communicator; `polled` is called inside `presence`
/// after polls that did, and says whether something is complete that was not before. After MPI has
/// started.
void prepare(double share, void (*drive)(), bool (*polled)());

/// Whether it may enter the library, and has reason to: if so, it is roused, and made at the first
/// time. Inside `presence`.
void allow(bool on);

/// Nothing of the program's own is under way: what others want of it is announced by sockets, where
/// there are some. Inside `presence`.
void set_patient(bool on);

/// Requests of collective operations on files, which some libraries advance only if they are asked
/// for each: the thread asks for this one, until it is dropped. Inside `presence`.
void ask(MPI_Request request);
void drop(MPI_Request request);

/// A start waits for it (state.hpp): it polls within tuning::kOverlapStartNs, and at once if it has
/// rested for longer. Inside `presence`.
void hurry();

/// Ends it. MPI is still there, and the program is inside it or calls nothing.
void end();

struct Work {
  std::uint64_t polls = 0;
  std::uint64_t useful = 0;
  std::uint64_t taken_ns = 0;
};

/// From any thread.
Work work();

}  // namespace hob::mpi::overlap_thread::worker
