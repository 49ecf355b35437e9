// What every generated wrapper needs: when to step aside, and what the process may have learned.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/mpi.hpp"
#include "mpi/spin.hpp"

namespace hob::mpi {

/// False: Hob passes every call on. Set once at MPI_Init, before the program can start threads.
inline bool active = false;

/// How deep this thread is inside Hob. The MPI library calls its own PMPI functions, and Hob calls
/// it: neither may come back into the wrappers.
inline thread_local int depth __attribute__((tls_model("initial-exec"))) = 0;

inline bool pass_through() { return !active || depth != 0; }

struct DepthGuard {
  DepthGuard() { ++depth; }
  ~DepthGuard() { --depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
};

/// Counts the moments at which this process may have learned of another one's write (docs/cache.md,
/// mode auto). One for the whole process: what one thread learned, all threads learned.
inline std::atomic<std::uint64_t> acquires{1};

/// Windows with a cache. While there is none, nothing depends on the count of acquires.
inline std::atomic<int> cached_windows{0};

inline void note_acquire() {
  if (HOB_LIKELY(cached_windows.load(std::memory_order_relaxed) == 0)) return;
  if (many_threads)
    acquires.fetch_add(1, std::memory_order_relaxed);
  else
    acquires.store(acquires.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// With ghosts, the communicator that stands for MPI_COMM_WORLD: the ranks that are no ghosts.
inline bool world_is_smaller = false;
inline MPI_Comm program_world;

inline MPI_Comm as_program_sees(MPI_Comm comm) {
  return HOB_UNLIKELY(world_is_smaller) && comm == MPI_COMM_WORLD ? program_world : comm;
}

}  // namespace hob::mpi
