// Synchronisation of windows. The order of Hob's work and the library's is what makes cached bytes
// true: docs/developers/cache.md, "When is a cached byte still true".

#include "base/clock.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/report/interim.hpp"
#include "mpi/rma/backend/native_backend.hpp"
#include "mpi/rma/cache/hot_gets.hpp"
#include "mpi/rma/direct.hpp"
#include "mpi/rma/joint_acquire.hpp"
#include "mpi/rma/state.hpp"
#include "mpi/rma/validation.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {
namespace {

using rma::kAllTargets;
using rma::Sync;

int synchronise(const Sync& sync, Window* window, MPI_Win win) {
  return window ? window->stages.first().synchronise(sync) : synchronise_natively(sync, win);
}

/// Makes the call; what another window shows may have been fetched before the writes of this one
/// were there that it completes.
[[gnu::noinline]] int complete_aliased(const Sync& sync, Window& window) {
  const Outstanding::Seen writes =
      sync.local ? Outstanding::Seen{} : window.aliased_writes.before(sync.target);
  const int result = window.stages.first().synchronise(sync);
  if (window.aliased_writes.arrived(sync.target, writes)) drop_aliased_copies(window);
  return result;
}

/// complete_by() where operations are noted.
[[gnu::noinline]] bool complete_noted(const Sync& sync, Window& window, int& result) {
  const Outstanding::Seen atomics = window.atomic_results.before(sync.target);
  result = HOB_UNLIKELY(!window.aliased_writes.none()) ? complete_aliased(sync, window)
                                                       : window.stages.first().synchronise(sync);
  return window.atomic_results.arrived(sync.target, atomics);
}

/// Operations of this process on the window, to the target or to all, are complete after the call;
/// returns whether results of atomics may be among them.
bool complete_by(const Sync& sync, Window& window, int& result) {
  if (HOB_UNLIKELY(!window.atomic_results.none() || !window.aliased_writes.none()))
    return complete_noted(sync, window, result);
  result = window.stages.first().synchronise(sync);
  return false;
}

/// After a wait was timed while tracking is off.
void choose_next_timed(bool was_long, int interval) {
  constexpr auto kIntervals = tuning::gets::kWaitIntervals;
  const int next = was_long ? kIntervals.first : kIntervals.after(interval);
  all_windows.timed.set(next);
}

/// complete_by(), for calls that wait for the targets of this process's own operations and for
/// no other process.
struct Wait {
  bool results_arrived;  ///< results of atomics may have arrived
  std::uint64_t ticks;   ///< what it took
};
Wait wait_for_targets(const Sync& sync, Window& window, int& result) {
  const std::uint64_t start = ticks();
  const bool results_arrived = complete_by(sync, window, result);
  const std::uint64_t now = ticks();
  const auto ahead = [&] { return window.cached ? window.cached->ahead_bytes() : 0; };
  const bool sampled =
      tracking_off() ||
      (many_threads && window.direct.get() == direct::Open::all && !window.waits.measuring());
  if (HOB_UNLIKELY(window.stages.batches() && sampled) &&
      window.stages.batches()->retry(
          window.issued.writes(),
          static_cast<std::uint64_t>(all_windows.timed.interval.load(std::memory_order_relaxed))))
    forget_untracked(window);
  const int interval = sampled ? all_windows.timed.interval.load(std::memory_order_relaxed) : 1;
  const auto alike = static_cast<std::uint64_t>(interval);
  if (HOB_UNLIKELY(window.waits.waited(now - start, now, alike, ahead))) forget_untracked(window);
  if (sampled) choose_next_timed(window.waits.is_long(now - start), interval);
  direct::time_next(all_windows.timed.interval.load(std::memory_order_relaxed));
  return {results_arrived, now - start};
}

/// The process may have learned of others' writes by this call.
void learned(const Sync& sync) {
  if (!ignores_acquires()) count_acquire(sync.name());
}

/// A call from which the process may learn of others' writes.
int acquire(const Sync& sync, MPI_Win win) {
  const int result = synchronise(sync, find_window(win), win);
  learned(sync);
  return result;
}

/// The same, which also completes all operations that this process issued on the window; `opens`:
/// it may open an epoch, too.
int acquire_and_close(const Sync& sync, MPI_Win win, bool opens) {
  Window* window = find_window(win);
  int result = MPI_SUCCESS;
  // It waits for others, too: phases are compared by it, and no prices learned.
  const bool timed = all_windows.phases_recalled.load(std::memory_order_relaxed);
  const std::uint64_t start = timed ? ticks() : 0;
  if (window)
    complete_by(sync, *window, result);
  else
    result = synchronise_natively(sync, win);
  learned(sync);
  if (window && window->cached)
    window->cached->epoch_closed(kAllTargets, result == MPI_SUCCESS, timed ? ticks() - start : 0,
                                 opens);
  report_if_due();
  return result;
}

/// MPI_PROC_NULL, or a wrong rank, which the library reports: nothing is complete.
bool is_no_target(const Window& window, const Sync& sync) {
  return !sync.all && static_cast<unsigned>(sync.target) >= static_cast<unsigned>(window.size);
}

/// After a flush of all targets: further ones may be the library's alone.
void note_flushed(Window& window, int result) {
  if (result == MPI_SUCCESS && !many_threads && !window.stages.ghosts() &&
      !(window.cached && window.cached->cache().entries() != 0))
    window.flushed.completed();
}

/// A flush of any kind, or the end of a passive epoch: completes this process's own operations to
/// the target and is no acquire.
int complete_at_target(Sync&& sync, MPI_Win win) {
  Window* const window = find_window(win);
  if (HOB_UNLIKELY(!window) || is_no_target(*window, sync)) return synchronise(sync, window, win);
  const bool flushes = sync.kind == Sync::Kind::flush;
  if (flushes && !many_threads && !tracking_off() && window->flushed.pass()) {
    report_if_due();
    return synchronise_natively(sync, win);
  }
  const bool completes_all = sync.all && !sync.local;
  CachedGets* const cached = window->cached.get();
  CachedGets::FlushToken token{};
  if (cached && flushes) {
    if (cached->flush_skipped(sync.target)) return MPI_SUCCESS;
    token = cached->before_flush(sync.target, sync.local);
    sync.local = token.local;
  }
  int result = MPI_SUCCESS;
  const Wait wait = wait_for_targets(sync, *window, result);
  if (wait.results_arrived) learned(sync);
  if (cached && flushes)
    cached->after_flush(sync.target, token, result == MPI_SUCCESS);
  else if (cached)
    cached->epoch_closed(sync.target, result == MPI_SUCCESS, wait.ticks);
  if (flushes && completes_all) note_flushed(*window, result);
  report_if_due();
  return result;
}

/// Whether a shared lock of another process may be held back: where cached bytes may outlive it,
/// since it excludes no process (`nocheck`) or the user has promised so.
bool defers_lock(const Window& window, bool nocheck) {
  return window.stages.locks() && window.cached && !window.cached->tracking_off_for_good() &&
         window.cached->mode() != Mode::off &&
         (nocheck || outlives_acquires(window.cached->mode()));
}

/// An epoch may be open now for all targets of a window: a lock inside it is an error.
void note_open(MPI_Win win) {
  if (Window* const window = find_window(win); window && window->cached && window->stages.locks())
    window->cached->epoch_opened(kAllTargets);
}

/// Whether an access epoch is open from now on in which all targets may be read.
void note_reach(MPI_Win win, bool all) {
  if (HOB_LIKELY(!all_windows.phases_recalled.load(std::memory_order_relaxed))) return;
  if (Window* const window = find_window(win); window && window->cached)
    window->cached->reaches_all(all);
}

}  // namespace

int on_Win_fence(int assert, MPI_Win win) {
  const int result = acquire_and_close(Sync::fence(assert), win, true);
  note_reach(win, result == MPI_SUCCESS && (assert& MPI_MODE_NOSUCCEED) == 0);
  return result;
}

int on_Win_start(MPI_Group group, int assert, MPI_Win win) {
  const int result = acquire(Sync::start(group, assert), win);
  note_reach(win, false);
  note_open(win);
  return result;
}

int on_Win_complete(MPI_Win win) {
  note_reach(win, false);
  return acquire_and_close(Sync::complete(), win, false);
}

int on_Win_post(MPI_Group group, int assert, MPI_Win win) {
  if (Window* window = find_window(win)) note_exposure(*window, true);
  return acquire(Sync::post(group, assert), win);
}

int on_Win_wait(MPI_Win win) {
  Window* window = find_window(win);
  const int result = synchronise(Sync::wait(), window, win);
  if (window && result == MPI_SUCCESS) note_exposure(*window, false);
  note_acquire("MPI_Win_wait");
  return result;
}

int on_Win_test(MPI_Win win, int* flag) {
  Window* window = find_window(win);
  const int result = synchronise(Sync::test(flag), window, win);
  // After an error, nothing says whether the epoch is over.
  if (result == MPI_SUCCESS && *flag == 0) return result;
  if (window && result == MPI_SUCCESS) note_exposure(*window, false);
  note_acquire("MPI_Win_test");
  return result;
}

int on_Win_lock(int lock_type, int rank, int assert, MPI_Win win) {
  const Sync sync = Sync::lock(lock_type, rank, assert);
  Window* window = find_window(win);
  if (!window) return acquire(sync, win);
  window->flushed.issued();
  const bool others = rank >= 0 && rank < window->size && rank != window->rank;
  const bool nocheck = (assert& MPI_MODE_NOCHECK) != 0;
  if (window->cached) window->cached->reaches_all(false);
  if (others && lock_type == MPI_LOCK_SHARED && defers_lock(*window, nocheck)) {
    const auto hits = window->cached->hits_if_closed(rank);
    if (hits && window->stages.locks()->defer(rank, assert, *hits)) return MPI_SUCCESS;
  }
  const int result = window->stages.first().synchronise(sync);
  if (window->cached && others) window->cached->epoch_opened(rank);
  // With NOCHECK, no process holds a lock that this one could follow: the program has learned
  // otherwise what it is to see, or by loads of its own memory.
  if (result == MPI_SUCCESS && nocheck && rank == window->rank && lock_type == MPI_LOCK_SHARED &&
      window->cached)
    window->cached->own_epoch_begins();
  else if (result != MPI_SUCCESS || !nocheck || !others)
    note_acquire("MPI_Win_lock");
  return result;
}

int on_Win_unlock(int rank, MPI_Win win) {
  Window* window = find_window(win);
  if (window && window->cached && window->stages.locks()->any() && rank >= 0 &&
      rank < window->size && window->stages.locks()->end(rank, window->cached->hits(rank))) {
    window->cached->epoch_closed(rank, true);
    return MPI_SUCCESS;
  }
  if (window && window->cached && rank == window->rank && window->cached->own_epoch_ends())
    note_acquire("MPI_Win_lock");
  return complete_at_target(Sync::unlock(rank), win);
}

int on_Win_lock_all(int assert, MPI_Win win) {
  const int result = acquire(Sync::lock_all(assert), win);
  note_reach(win, result == MPI_SUCCESS);
  note_open(win);
  return result;
}

int on_Win_unlock_all(MPI_Win win) {
  note_reach(win, false);
  return complete_at_target(Sync::unlock_all(), win);
}

int quick_Win_flush(int rank, MPI_Win win) {
  Window* const window = find_window(win);
  if (HOB_LIKELY(window && window->cached) && window->cached->flush_again(rank)) return MPI_SUCCESS;
  return long_Win_flush(rank, win);
}

int on_Win_flush(int rank, MPI_Win win) { return complete_at_target(Sync::flush(rank), win); }

int on_Win_flush_all(MPI_Win win) { return complete_at_target(Sync::flush_all(), win); }

int on_Win_flush_local(int rank, MPI_Win win) {
  return complete_at_target(Sync::flush_local(rank), win);
}

int on_Win_flush_local_all(MPI_Win win) { return complete_at_target(Sync::flush_local_all(), win); }

int on_Win_sync(MPI_Win win) { return acquire(Sync::sync(), win); }

int on_Barrier(MPI_Comm comm) { return JointAcquire::barrier(comm); }

}  // namespace hob::mpi
