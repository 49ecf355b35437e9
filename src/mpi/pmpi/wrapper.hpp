// What every generated wrapper needs: when to step aside, and what the process may have learned.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/pmpi/spin.hpp"

namespace hob::mpi {

/// False: Hob passes every call on. Set once at MPI_Init, before the program can start threads.
inline bool active = false;

/// How deep this thread is inside Hob. The MPI library calls its own PMPI functions, and Hob calls
/// it: neither may come back into the wrappers.
inline thread_local int depth __attribute__((tls_model("initial-exec"))) = 0;

inline bool pass_through() { return !active || depth != 0; }

/// How many parts of Hob have something to do at synchronisation of windows and at writes: windows
/// from which something was fetched through a cache, ghosts, receives that Hob holds, and programs
/// whose threads may be inside MPI together. With none, Hob sleeps: the wrappers of these calls
/// (plan.SLEEPERS) are the library's own.
inline std::atomic<int> parts_awake{0};

/// Adds, at the price of a plain addition while the program has one thread.
inline void count(std::atomic<int>& counter, int more) {
  if (many_threads)
    counter.fetch_add(more, std::memory_order_seq_cst);
  else
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

inline void wake() { count(parts_awake, 1); }
inline void rest() { count(parts_awake, -1); }

/// For parts that, once they have had something to do, stay awake.
inline void stay_awake() {
  static const bool once = (wake(), true);
  (void)once;
}

inline bool sleeping() { return parts_awake.load(std::memory_order_relaxed) == 0; }
inline bool asleep() { return sleeping() || pass_through(); }

/// What is only counted, and where, while Hob sleeps: writes, and gets of windows that it leaves
/// alone for good. One slot for each of a few windows, filled by their hooks.
struct QuietWindow {
  MPI_Win window{};
  std::uint64_t* puts = nullptr;
  std::uint64_t* accumulates = nullptr;
  std::uint64_t* gets = nullptr;
};
inline constexpr std::size_t quiet_slots = 16;
inline QuietWindow quiet_windows[quiet_slots];

inline QuietWindow& quiet_slot(MPI_Win window) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &window, sizeof window);
  return quiet_windows[(bits ^ bits >> 4) % quiet_slots];
}

/// Counts the call and says so, if it is one that is only counted now.
inline bool only_counted(MPI_Win window, std::uint64_t* QuietWindow::*which) {
  if (!sleeping()) return false;
  const QuietWindow& slot = quiet_slot(window);
  if (slot.window != window || !(slot.*which)) return false;
  ++*(slot.*which);
  return true;
}

/// Neither a status nor the constant that stands for none.
inline bool is_no_status(const MPI_Status* status) {
  return !status && MPI_STATUS_IGNORE != static_cast<MPI_Status*>(nullptr);
}

struct DepthGuard {
  DepthGuard() { ++depth; }
  ~DepthGuard() { --depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
};

/// Counts the moments at which this process may have learned of another one's write (docs/developers/cache.md,
/// mode auto). One for the whole process: what one thread learned, all threads learned.
inline std::atomic<std::uint64_t> acquires{1};

/// Windows with a cache. While there is none, nothing depends on the count of acquires.
inline std::atomic<int> cached_windows{0};

inline bool nothing_cached() {
  return HOB_LIKELY(cached_windows.load(std::memory_order_relaxed) == 0);
}

/// Nothing to do for Hob while a call blocks, nor to learn from its end.
inline bool idle() {
  return nothing_cached() && parts_under_way.load(std::memory_order_relaxed) == 0 && !many_threads;
}

inline void note_acquire() {
  if (nothing_cached()) return;
  if (many_threads)
    acquires.fetch_add(1, std::memory_order_relaxed);
  else
    acquires.store(acquires.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// One more, from any thread.
inline void tally(std::uint64_t& counter) {
  if (many_threads)
    std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed);
  else
    ++counter;
}

/// With ghosts, the communicator that stands for MPI_COMM_WORLD: the ranks that are no ghosts.
inline bool world_is_smaller = false;
inline MPI_Comm program_world;

inline MPI_Comm as_program_sees(MPI_Comm comm) {
  return HOB_UNLIKELY(world_is_smaller) && comm == MPI_COMM_WORLD ? program_world : comm;
}

}  // namespace hob::mpi
