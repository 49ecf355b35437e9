// Yields of the MPI library while it waits. MPICH 5 calls sched_yield after each poll of a wait
// that found nothing: where no other process wants the core, that is most of what a short message
// takes (pingpong of 8 B on one node 1.5 us, 0.3 us without). Hob stands between, and makes them
// while other processes take the core.
#pragma once

#include <cstdint>

namespace hob::mpi::library_yields {

/// From now on, what the calling thread's calls of the MPI library yield is judged (setting
/// yields). With several threads in MPI all are made while others of the process run: they may
/// wait for a lock. Not where processes share cores by design.
void start();
/// All yields are made again.
void stop();

/// How many were left out.
std::uint64_t left_out();

}  // namespace hob::mpi::library_yields
