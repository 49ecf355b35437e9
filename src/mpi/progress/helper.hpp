// A task of the progress thread that advances Hob's things while threads of the program are blocked
// inside an MPI library that does not call back. Only with MPI_THREAD_MULTIPLE.
#pragma once

#include <atomic>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/progress/state.hpp"

namespace hob::mpi::helper {

/// Before the first blocked call. Not thread safe: called while MPI starts.
void prepare();

/// Something is under way: if a thread is blocked, the helper works. It begins at its first use.
void call();

/// How many calls of this thread are blocked, one in another; counted for its first one. Without
/// memory, the process ends: what is under way might wait for ever.
[[gnu::cold]] std::atomic<int>* calls_of_this_thread() noexcept;

/// The helper works if something is under way.
[[gnu::cold]] void call_if_under_way() noexcept;

/// This thread of the program is about to block inside the library, or no longer: leave() is given
/// what enter() has returned.
std::atomic<int>* enter() noexcept;
/// The same without a call, before which a wrapper would put all of its arguments elsewhere.
[[gnu::always_inline]] inline std::atomic<int>* enter_here() noexcept {
  std::atomic<int>* calls = own_calls;
  if (HOB_UNLIKELY(!calls)) calls = calls_of_this_thread();
  calls->store(calls->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (HOB_UNLIKELY(own_progress.was_under_way.load(std::memory_order_relaxed))) call_if_under_way();
  return calls;
}
[[gnu::always_inline]] inline void leave(std::atomic<int>& calls) noexcept {
  calls.store(calls.load(std::memory_order_relaxed) - 1, std::memory_order_release);
}

/// Ends it. MPI is still there.
void end();

}  // namespace hob::mpi::helper
