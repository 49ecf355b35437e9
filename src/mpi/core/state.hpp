// What the whole process knows beside its context(). All mutable globals of this layer that others
// see are here.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// A runtime for accelerators is loaded (CUDA, HIP or Level Zero). Global, since memory is the
/// whole process's.
inline std::atomic<bool> accelerator_loaded{false};

/// Counts the moments at which this process may have learned of another one's write
/// (docs/consistency.md). One for the whole process: what one thread learned, all threads learned.
inline std::atomic<std::uint64_t> acquires{1};

/// The call that was the last of these: its name as in the standard, or what else it was.
inline std::atomic<const char*> last_acquire{""};

/// How many objects depend on the count of acquires: windows with a cache.
inline std::atomic<int> acquire_users{0};

/// With ghosts, the communicator that stands for MPI_COMM_WORLD: the ranks that are no ghosts. Set
/// once at MPI_Init.
inline bool world_is_smaller = false;
inline MPI_Comm program_world;

}  // namespace hob::mpi
