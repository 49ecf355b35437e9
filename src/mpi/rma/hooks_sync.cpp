// Synchronisation of windows. The order of Hob's work and the library's is what makes cached bytes
// true: docs/developers/cache.md, "When is a cached byte still true".
#include <algorithm>
#include <limits>

#include "base/clock.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/report/interim.hpp"
#include "mpi/rma/direct.hpp"
#include "mpi/rma/joint_acquire.hpp"
#include "mpi/rma/state.hpp"
#include "mpi/rma/validation.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {
namespace {

/// No rank, and not MPI_PROC_NULL.
constexpr int kAll = std::numeric_limits<int>::min();

/// Operations of this process on the window, to `target` or to all, are complete after `call`;
/// tells whether results of atomics may be among them.
template <class Call>
bool complete_by(Window& window, int target, bool local, int& result, Call call) {
  const Outstanding::Seen atomics = window.atomic_results.before(target);
  const Outstanding::Seen writes =
      local ? Outstanding::Seen{} : window.aliased_writes.before(target);
  result = call(*window.backend);
  // What another window shows may have been fetched before these writes were there.
  if (window.aliased_writes.arrived(target, writes)) drop_aliased_copies(window);
  return window.atomic_results.arrived(target, atomics);
}

/// After a wait was timed while Hob sleeps.
void choose_next_timed(bool was_long, int interval) {
  constexpr auto kIntervals = tuning::gets::kWaitIntervals;
  const int next = was_long ? kIntervals.first : kIntervals.after(interval);
  wait_interval.store(next, std::memory_order_relaxed);
  untimed_waits.store(next, std::memory_order_relaxed);
}

/// complete_by(), for calls that wait for the targets of this process's own operations and for
/// nobody else.
struct Wait {
  bool told;            ///< results of atomics may have arrived
  std::uint64_t ticks;  ///< what it took
};
template <class Call>
Wait wait_for_targets(Window& window, int target, bool local, int& result, Call call) {
  const std::uint64_t start = ticks();
  const bool told = complete_by(window, target, local, result, call);
  const std::uint64_t now = ticks();
  const auto ahead = [&] { return window.cached ? window.cached->ahead_bytes() : 0; };
  const bool sampled =
      sleeping() || (many_threads && window.direct.get() && !window.waits.measuring());
  if (HOB_UNLIKELY(window.batching && sampled) &&
      window.batching->look_again(
          window.issued.writes(),
          static_cast<std::uint64_t>(wait_interval.load(std::memory_order_relaxed))))
    forget_quiet(window);
  const int interval = sampled ? wait_interval.load(std::memory_order_relaxed) : 1;
  const auto alike = static_cast<std::uint64_t>(interval);
  if (HOB_UNLIKELY(window.waits.waited(now - start, now, alike, ahead))) forget_quiet(window);
  if (sampled) choose_next_timed(window.waits.is_long(now - start), interval);
  direct::time_next(wait_interval.load(std::memory_order_relaxed));
  return {told, now - start};
}

/// A call from which the process may learn of others' writes.
template <class Call, class Otherwise>
int acquire(const char* name, MPI_Win win, Call call, Otherwise otherwise) {
  Window* window = find_window(win);
  const int result = window ? call(*window->backend) : otherwise();
  note_acquire(name);
  return result;
}

/// The same, which also completes all operations that this process issued on the window; `opens`:
/// it may open an epoch, too.
template <class Call, class Otherwise>
int acquire_and_close(const char* name, MPI_Win win, bool opens, Call call, Otherwise otherwise) {
  Window* window = find_window(win);
  int result = MPI_SUCCESS;
  // It waits for others, too: phases are compared by it, and no prices learned.
  const bool timed = phases_recalled.load(std::memory_order_relaxed);
  const std::uint64_t start = timed ? ticks() : 0;
  if (window)
    complete_by(*window, kAll, false, result, call);
  else
    result = otherwise();
  note_acquire(name);
  if (window && window->cached)
    window->cached->epoch_closed(kAll, result == MPI_SUCCESS, timed ? ticks() - start : 0, opens);
  report_if_due();
  return result;
}

/// MPI_PROC_NULL, or a wrong rank, of which the library tells: nothing is complete.
bool is_no_target(const Window& window, int target) {
  return target != kAll && (target < 0 || target >= window.size);
}

/// The end of a passive epoch: completes this process's own operations to `target` and tells
/// nothing else.
template <class Call, class Otherwise>
int unlock(const char* name, MPI_Win win, int target, Call call, Otherwise otherwise) {
  Window* window = find_window(win);
  if (!window) return otherwise();
  if (is_no_target(*window, target)) return call(*window->backend);
  int result = MPI_SUCCESS;
  const Wait wait = wait_for_targets(*window, target, false, result, call);
  if (wait.told) note_acquire(name);
  if (window->cached) window->cached->epoch_closed(target, result == MPI_SUCCESS, wait.ticks);
  report_if_due();
  return result;
}

/// A flush of any kind, likewise.
template <class Call, class Otherwise>
int flush(const char* name, MPI_Win win, int target, bool local, Call call, Otherwise otherwise) {
  Window* window = find_window(win);
  if (HOB_UNLIKELY(!window)) return otherwise();
  CachedGets* const cached = window->cached.get();
  if (is_no_target(*window, target)) return call(*window->backend, local);
  CachedGets::FlushToken token{.local = local};
  if (cached) {
    if (cached->flush_skipped(target)) return MPI_SUCCESS;
    token = cached->before_flush(target, local);
  }
  int result = MPI_SUCCESS;
  const Wait wait = wait_for_targets(*window, target, token.local, result,
                                     [&](Backend& backend) { return call(backend, token.local); });
  if (wait.told) note_acquire(name);
  if (cached) cached->after_flush(target, token, result == MPI_SUCCESS);
  report_if_due();
  return result;
}

/// Whether a shared lock of another process may be held back: where cached bytes may outlive it,
/// since it excludes nobody (`nocheck`) or the user has promised so.
bool defers_lock(const Window& window, bool nocheck) {
  return window.deferred_locks && window.cached && !window.cached->left_alone() &&
         window.cached->mode() != Mode::off &&
         (nocheck || outlives_acquires(window.cached->mode()));
}

/// An epoch may be open now for all targets of a window: a lock inside it is an error.
void note_open(MPI_Win win) {
  if (Window* const window = find_window(win); window && window->cached && window->deferred_locks)
    window->cached->epoch_opened(kAll);
}

/// Whether an access epoch is open from now on in which all targets may be read.
void note_reach(MPI_Win win, bool all) {
  if (HOB_LIKELY(!phases_recalled.load(std::memory_order_relaxed))) return;
  if (Window* const window = find_window(win); window && window->cached)
    window->cached->reaches_all(all);
}

}  // namespace

int on_Win_fence(int assert, MPI_Win win) {
  const int result = acquire_and_close(
      "MPI_Win_fence", win, true, [&](Backend& backend) { return backend.fence(assert); },
      [&] { return real::Win_fence(assert, win); });
  note_reach(win, result == MPI_SUCCESS && (assert& MPI_MODE_NOSUCCEED) == 0);
  return result;
}

int on_Win_start(MPI_Group group, int assert, MPI_Win win) {
  const int result = acquire(
      "MPI_Win_start", win, [&](Backend& backend) { return backend.start(group, assert); },
      [&] { return real::Win_start(group, assert, win); });
  note_reach(win, false);
  note_open(win);
  return result;
}

int on_Win_complete(MPI_Win win) {
  note_reach(win, false);
  return acquire_and_close(
      "MPI_Win_complete", win, false, [](Backend& backend) { return backend.complete(); },
      [&] { return real::Win_complete(win); });
}

int on_Win_post(MPI_Group group, int assert, MPI_Win win) {
  return acquire(
      "MPI_Win_post", win,
      [&](Backend& backend) {
        if (Window* window = find_window(win)) note_exposure(*window, true);
        return backend.post(group, assert);
      },
      [&] { return real::Win_post(group, assert, win); });
}

int on_Win_wait(MPI_Win win) {
  return acquire(
      "MPI_Win_wait", win,
      [&](Backend& backend) {
        const int result = backend.wait();
        Window* window = find_window(win);
        if (window && result == MPI_SUCCESS) note_exposure(*window, false);
        return result;
      },
      [&] { return real::Win_wait(win); });
}

int on_Win_test(MPI_Win win, int* flag) {
  Window* window = find_window(win);
  const int result = window ? window->backend->test(flag) : real::Win_test(win, flag);
  // After an error, nothing says whether the epoch is over.
  if (result == MPI_SUCCESS && *flag == 0) return result;
  if (window && result == MPI_SUCCESS) note_exposure(*window, false);
  note_acquire("MPI_Win_test");
  return result;
}

int on_Win_lock(int lock_type, int rank, int assert, MPI_Win win) {
  Window* window = find_window(win);
  if (!window) {
    const int result = real::Win_lock(lock_type, rank, assert, win);
    note_acquire("MPI_Win_lock");
    return result;
  }
  const bool others = rank >= 0 && rank < window->size && rank != window->rank;
  const bool nocheck = (assert& MPI_MODE_NOCHECK) != 0;
  if (window->cached) window->cached->reaches_all(false);
  if (others && lock_type == MPI_LOCK_SHARED && defers_lock(*window, nocheck)) {
    const auto hits = window->cached->hits_if_closed(rank);
    if (hits && window->deferred_locks->defer(rank, assert, *hits)) return MPI_SUCCESS;
  }
  const int result = window->backend->lock(lock_type, rank, assert);
  if (window->cached && others) window->cached->epoch_opened(rank);
  // With NOCHECK, nobody holds a lock that this one could follow: what it is to see was told
  // otherwise, or by loads of its own memory.
  if (result == MPI_SUCCESS && nocheck && rank == window->rank && lock_type == MPI_LOCK_SHARED &&
      window->cached)
    window->cached->own_epoch_begins();
  else if (result != MPI_SUCCESS || !nocheck || !others)
    note_acquire("MPI_Win_lock");
  return result;
}

int on_Win_unlock(int rank, MPI_Win win) {
  Window* window = find_window(win);
  if (window && window->cached && window->deferred_locks->any() && rank >= 0 &&
      rank < window->size && window->deferred_locks->end(rank, window->cached->hits(rank))) {
    window->cached->epoch_closed(rank, true);
    return MPI_SUCCESS;
  }
  if (window && window->cached && rank == window->rank && window->cached->own_epoch_ends())
    note_acquire("MPI_Win_lock");
  return unlock(
      "MPI_Win_unlock", win, rank, [&](Backend& backend) { return backend.unlock(rank); },
      [&] { return real::Win_unlock(rank, win); });
}

int on_Win_lock_all(int assert, MPI_Win win) {
  const int result = acquire(
      "MPI_Win_lock_all", win, [&](Backend& backend) { return backend.lock_all(assert); },
      [&] { return real::Win_lock_all(assert, win); });
  note_reach(win, result == MPI_SUCCESS);
  note_open(win);
  return result;
}

int on_Win_unlock_all(MPI_Win win) {
  note_reach(win, false);
  return unlock(
      "MPI_Win_unlock_all", win, kAll, [](Backend& backend) { return backend.unlock_all(); },
      [&] { return real::Win_unlock_all(win); });
}

int on_Win_flush(int rank, MPI_Win win) {
  return flush(
      "MPI_Win_flush", win, rank, false,
      [&](Backend& backend, bool) { return backend.flush(rank); },
      [&] { return real::Win_flush(rank, win); });
}

int on_Win_flush_all(MPI_Win win) {
  return flush(
      "MPI_Win_flush_all", win, kAll, false,
      [](Backend& backend, bool) { return backend.flush_all(); },
      [&] { return real::Win_flush_all(win); });
}

int on_Win_flush_local(int rank, MPI_Win win) {
  return flush(
      "MPI_Win_flush_local", win, rank, true,
      [&](Backend& backend, bool local) {
        return local ? backend.flush_local(rank) : backend.flush(rank);
      },
      [&] { return real::Win_flush_local(rank, win); });
}

int on_Win_flush_local_all(MPI_Win win) {
  return flush(
      "MPI_Win_flush_local_all", win, kAll, true,
      [](Backend& backend, bool local) {
        return local ? backend.flush_local_all() : backend.flush_all();
      },
      [&] { return real::Win_flush_local_all(win); });
}

int on_Win_sync(MPI_Win win) {
  return acquire(
      "MPI_Win_sync", win, [](Backend& backend) { return backend.sync(); },
      [&] { return real::Win_sync(win); });
}

int on_Barrier(MPI_Comm comm) { return JointAcquire::barrier(comm); }

}  // namespace hob::mpi
