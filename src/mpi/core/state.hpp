// What the whole process knows beside its context(). All mutable globals of this layer that others
// see are here.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/state.hpp"

namespace hob::mpi {

/// A runtime for accelerators is loaded (CUDA, HIP or Level Zero). Global, since memory is the
/// whole process's.
inline std::atomic<bool> accelerator_loaded{false};

/// The moments at which this process may have learned of another one's write (docs/consistency.md).
/// One for the whole process: what one thread learned, all threads learned.
struct Acquires {
  std::atomic<std::uint64_t> count{1};

  /// The call that was the last of these: its name as in the standard, or what else it was.
  std::atomic<const char*> last{""};

  /// How many objects depend on the count: windows with a cache.
  std::atomic<int> users{0};

  /// Epochs of all windows in which this process may read its own memory by loads, and learn so of
  /// others' writes (rma/cache/own_epoch.hpp).
  std::atomic<int> own_epochs_of_loads{0};

  /// One more. Returns how many there were before.
  std::uint64_t add(const char* call) {
    last.store(call, std::memory_order_relaxed);
    if (many_threads) return count.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t before = count.load(std::memory_order_relaxed);
    count.store(before + 1, std::memory_order_relaxed);
    return before;
  }
};
/// Of this process.
inline constinit Acquires acquires;

/// With ghosts, the communicator that stands for MPI_COMM_WORLD: the ranks that are no ghosts. Set
/// once at MPI_Init.
struct ProgramWorld {
  bool is_smaller = false;
  MPI_Comm comm{};
};
/// There is one MPI_COMM_WORLD.
inline constinit ProgramWorld program_world;

}  // namespace hob::mpi
