// What every generated wrapper needs: when to step aside, and what the process may have learned.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/state.hpp"

namespace hob::mpi {

inline bool pass_through() { return !active || depth != 0; }

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

/// asleep(), for calls that wait for targets.
inline bool asleep_untimed() {
  if (!sleeping()) return pass_through();
  const int left = untimed_waits.load(std::memory_order_relaxed) - 1;
  if (HOB_LIKELY(left > 0)) {
    untimed_waits.store(left, std::memory_order_relaxed);
    return true;
  }
  untimed_waits.store(wait_interval.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return pass_through();
}

/// Neither a status nor the constant that stands for none.
inline bool is_no_status(const MPI_Status* status) {
  return !status && MPI_STATUS_IGNORE != static_cast<MPI_Status*>(nullptr);
}

/// Around Hob's own work and calls of the library: neither comes back into the wrappers.
struct DepthGuard {
  DepthGuard() { ++depth; }
  ~DepthGuard() { --depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
};

inline bool nothing_cached() {
  return HOB_LIKELY(cached_windows.load(std::memory_order_relaxed) == 0);
}

/// Nothing to do for Hob while a call blocks, nor to learn from its end.
inline bool idle() {
  return nothing_cached() && parts_under_way.load(std::memory_order_relaxed) == 0 && !many_threads;
}

/// One acquire more. Returns how many there were before. `call` is a literal: its name as in the
/// standard.
inline std::uint64_t count_acquire(const char* call) {
  last_acquire.store(call, std::memory_order_relaxed);
  if (many_threads) return acquires.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t before = acquires.load(std::memory_order_relaxed);
  acquires.store(before + 1, std::memory_order_relaxed);
  return before;
}

/// The same, where anything depends on it.
inline void note_acquire(const char* call) {
  if (!nothing_cached()) count_acquire(call);
}

/// Around a call from which the process may learn: an exception that an error handler of the
/// program's throws through it may leave behind operations that are complete.
struct AcquireIfUnwound {
  AcquireIfUnwound() = default;
  ~AcquireIfUnwound() {
    if (!returned) note_acquire("an exception");
  }
  AcquireIfUnwound(const AcquireIfUnwound&) = delete;
  AcquireIfUnwound& operator=(const AcquireIfUnwound&) = delete;

  bool returned = false;
};

/// One more, from any thread.
inline void tally(std::uint64_t& counter) {
  if (many_threads)
    std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed);
  else
    ++counter;
}

inline MPI_Comm as_program_sees(MPI_Comm comm) {
  return HOB_UNLIKELY(world_is_smaller) && comm == MPI_COMM_WORLD ? program_world : comm;
}

/// The reverse, for callbacks: the handle that the program knows.
inline MPI_Comm as_program_knows(MPI_Comm comm) {
  return HOB_UNLIKELY(world_is_smaller) && comm == program_world ? MPI_COMM_WORLD : comm;
}

}  // namespace hob::mpi
