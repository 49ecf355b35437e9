// Synchronisation of windows that ghosts serve.
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "mpi/core/memory_fence.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/rma/ghost/ghost_backend.hpp"

namespace hob::mpi {

using ghost::LockMode;
using ghost::Peer;

namespace {

/// What the program hears of operations that a ghost could not carry out, since memory that the
/// window shows was out of its reach (pages without permission, a process that is gone). Once.
int outcome(Peer& peer) {
  return std::exchange(peer.completion.failed, false) ? MPI_ERR_OTHER : MPI_SUCCESS;
}

/// What the program hears of operations that went both ways.
int of_both(int by_ghosts, int natively) { return by_ghosts != MPI_SUCCESS ? by_ghosts : natively; }

}  // namespace

int GhostBackend::synchronise(const rma::Sync& sync) {
  using Kind = rma::Sync::Kind;
  switch (sync.kind) {
    case Kind::fence:
      return fence(sync.assertion);
    case Kind::start:
      return start(sync.group, sync.assertion);
    case Kind::complete:
      return complete();
    case Kind::post:
      return post(sync.group, sync.assertion);
    case Kind::wait:
      return wait();
    case Kind::test:
      return test(sync.flag);
    case Kind::lock:
      return sync.all ? lock_all(sync.assertion)
                      : lock(sync.lock_type, sync.target, sync.assertion);
    case Kind::unlock:
      return sync.all ? unlock_all() : unlock(sync.target);
    case Kind::flush:
      if (sync.all) return sync.local ? flush_local_all() : held([&] { return complete_all(); });
      return sync.local ? flush_local(sync.target) : flush(sync.target);
    case Kind::sync:
      return make_progress();
  }
  return fail(MPI_ERR_INTERN);
}

int GhostBackend::outcome_of_all() {
  int code = MPI_SUCCESS;
  targets_.each([&](Peer& peer) {
    if (const int its = outcome(peer); its != MPI_SUCCESS) code = its;
  });
  return code;
}

// Completes what went to ghosts.
int GhostBackend::flush_peers() {
  const bool measured = native_.to_be_judged();
  if (ghost_client->origin.active() || measured) {
    targets_.each([](Peer& peer) { ghost_client->origin.push(peer); });
    targets_.each_target([&](GhostTargets::Target& to) {
      const std::uint64_t start = measured ? tick_nanoseconds() : 0;
      ghost_client->origin.flush(to.peer);
      if (measured) native_.completed_by_ghost(to, tick_nanoseconds() - start);
    });
    native_.judged();
  }
  memory_fence();
  return outcome_of_all();
}

int GhostBackend::complete_all() {
  const int natively = native_.complete_all(handle);
  return of_both(flush_peers(), natively);
}

// A fence that ends an epoch completes this process's operations and lets the MPI library's own
// fence, which has no operations to complete, synchronise the processes. One that ends nothing
// waits for no process: its number, in shared memory, shows ghosts and neighbours that this process
// has come so far, and they let no operation of the new epoch pass before.
int GhostBackend::fence(int assertion) {
  const bool ends = (assertion & MPI_MODE_NOPRECEDE) == 0;
  int failure = MPI_SUCCESS;
  {
    const GhostHold hold;
    ++ghost_client->fences.calls;
    if (ends) {
      ++ghost_client->fences.completions;
      ++ghost_client->fences.synchronisations;
      failure = complete_all();
      // The library allows no fence in an epoch of locks.
      native_.close(handle);
    }
    memory_fence();
    ++fences_;
    at(self_).peer.direct->fences.store(fences_, std::memory_order_release);
    unsynchronised_ = !ends;
    targets_.each([&](Peer& peer) {
      if (ends) {
        ghost_client->origin.leave(peer);
      } else {
        ghost_client->origin.enter(peer, fences_);
      }
    });
  }
  if (!ends) return MPI_SUCCESS;
  // An epoch of locks may follow, which a fence's excludes.
  const int result = real::Win_fence(NativeWay::wanted() ? MPI_MODE_NOSUCCEED : 0, handle);
  memory_fence();
  return failure != MPI_SUCCESS ? fail(failure) : result;
}

int GhostBackend::start(MPI_Group group, int assertion) {
  return held([&]() -> int {
    if (HOB_UNLIKELY(pscw_.accessing())) return MPI_ERR_RMA_SYNC;
    pscw_.start(group, assertion);
    return MPI_SUCCESS;
  });
}

int GhostBackend::complete() {
  return held([&]() -> int {
    if (HOB_UNLIKELY(!pscw_.accessing())) return MPI_ERR_RMA_SYNC;
    // The last operations travel at the same time as the messages that announce them to their
    // targets.
    targets_.each_target([&](GhostTargets::Target& to) {
      if (std::exchange(to.peer.counts, false)) ghost_client->origin.push_counted(to.peer);
      if (to.peer.counted != 0)
        pscw_.count(targets_.rank(to.rank), std::exchange(to.peer.counted, 0));
    });
    const int code = complete_all();
    pscw_.complete();
    return code;
  });
}

int GhostBackend::post(MPI_Group group, int assertion) {
  return held([&]() -> int {
    if (HOB_UNLIKELY(pscw_.exposing())) return MPI_ERR_RMA_SYNC;
    memory_fence();
    pscw_.post(group, assertion);
    return MPI_SUCCESS;
  });
}

int GhostBackend::wait() {
  return held([&]() -> int {
    if (HOB_UNLIKELY(!pscw_.exposing())) return MPI_ERR_RMA_SYNC;
    pscw_.wait(*at(self_).peer.direct);
    memory_fence();
    return MPI_SUCCESS;
  });
}

int GhostBackend::test(int* flag) {
  return held([&]() -> int {
    if (HOB_UNLIKELY(!pscw_.exposing())) return MPI_ERR_RMA_SYNC;
    *flag = pscw_.test(*at(self_).peer.direct);
    memory_fence();
    return MPI_SUCCESS;
  });
}

int GhostBackend::lock(int type, int target, int assertion) {
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  if (HOB_UNLIKELY(!targets_.exists(target))) return fail(MPI_ERR_RANK);
  if (HOB_UNLIKELY(type != MPI_LOCK_EXCLUSIVE && type != MPI_LOCK_SHARED))
    return fail(MPI_ERR_LOCKTYPE);
  LockMode mode = type == MPI_LOCK_EXCLUSIVE ? LockMode::exclusive : LockMode::shared;
  if ((assertion & MPI_MODE_NOCHECK) != 0) mode = LockMode::none;
  return held([&]() -> int {
    GhostTargets::Target& to = at(target);
    if (HOB_UNLIKELY(to.locked || locked_all_)) return MPI_ERR_RMA_SYNC;
    ghost_client->origin.lock(to.peer, mode, false);
    to.locked = true;
    memory_fence();
    return MPI_SUCCESS;
  });
}

int GhostBackend::unlock(int target) {
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  if (HOB_UNLIKELY(!targets_.exists(target))) return fail(MPI_ERR_RANK);
  return held([&]() -> int {
    GhostTargets::Target& to = at(target);
    if (HOB_UNLIKELY(!to.locked)) return MPI_ERR_RMA_SYNC;
    // Before others get the lock.
    const int natively = native_.complete(handle, to);
    memory_fence();
    const bool measured = NativeWay::possible() && to.peer.lock_is_certain();
    const std::uint64_t start = measured ? tick_nanoseconds() : 0;
    ghost_client->origin.unlock(to.peer);
    if (measured)
      native_.completed_by_ghost(to, tick_nanoseconds() - start);
    else
      to.native.begin_anew();
    to.locked = false;
    return of_both(outcome(to.peer), natively);
  });
}

int GhostBackend::lock_all(int assertion) {
  return held([&]() -> int {
    if (HOB_UNLIKELY(locked_all_)) return MPI_ERR_RMA_SYNC;
    all_ = (assertion & MPI_MODE_NOCHECK) != 0 ? LockMode::none : LockMode::shared;
    targets_.each([&](Peer& peer) { ghost_client->origin.lock(peer, all_, true); });
    locked_all_ = true;
    // This process may load and store its own memory from here on.
    ghost_client->origin.lock(at(self_).peer, all_, false);
    memory_fence();
    return MPI_SUCCESS;
  });
}

int GhostBackend::unlock_all() {
  return held([&]() -> int {
    if (HOB_UNLIKELY(!locked_all_)) return MPI_ERR_RMA_SYNC;
    const int natively = native_.complete_all(handle);
    memory_fence();
    targets_.each([](Peer& peer) { ghost_client->origin.push(peer); });
    targets_.each_target([&](GhostTargets::Target& to) {
      ghost_client->origin.unlock(to.peer);
      to.native.begin_anew();
    });
    locked_all_ = false;
    return of_both(outcome_of_all(), natively);
  });
}

int GhostBackend::flush(int target) {
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  if (HOB_UNLIKELY(!targets_.exists(target))) return fail(MPI_ERR_RANK);
  return held([&]() -> int {
    GhostTargets::Target& to = at(target);
    const int natively = native_.complete(handle, to);
    const bool measured = NativeWay::possible();
    const std::uint64_t start = measured ? tick_nanoseconds() : 0;
    ghost_client->origin.flush(to.peer);
    if (measured) native_.completed_by_ghost(to, tick_nanoseconds() - start);
    memory_fence();
    return of_both(outcome(to.peer), natively);
  });
}

int GhostBackend::flush_local(int target) {
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  if (HOB_UNLIKELY(!targets_.exists(target))) return fail(MPI_ERR_RANK);
  return held([&]() -> int {
    GhostTargets::Target& to = at(target);
    // Libraries return from a local flush before the bytes of gets are there (MPICH 4.0).
    const int natively = native_.complete(handle, to);
    ghost_client->origin.flush_local(to.peer);
    return of_both(outcome(to.peer), natively);
  });
}

int GhostBackend::flush_local_all() {
  return held([&]() -> int {
    const int natively = native_.complete_all(handle);
    targets_.each([](Peer& peer) { ghost_client->origin.push(peer); });
    targets_.each([](Peer& peer) { ghost_client->origin.flush_local(peer); });
    return of_both(outcome_of_all(), natively);
  });
}

// Who waits for a put by loads alone calls this: what others put natively needs the library.
int GhostBackend::make_progress() {
  if (NativeWay::wanted()) requests::drive_progress();
  const GhostHold hold;
  ghost_client->origin.progress();
  memory_fence();
  return MPI_SUCCESS;
}

// Releases of locks travel without an answer: before the memory may be used for something else, all
// have been seen to arrive.
void GhostBackend::closing() {
  const GhostHold hold;
  complete_all();
  native_.close(handle);
  targets_.each([](Peer& peer) { ghost_client->origin.settle(peer); });
  std::erase(ghost_client->open_windows, handle);
}

// NativeWay begins its epoch anew when it issues something.
void GhostBackend::staying() {
  const GhostHold hold;
  ghost_client->open_windows.push_back(handle);
}

}  // namespace hob::mpi
