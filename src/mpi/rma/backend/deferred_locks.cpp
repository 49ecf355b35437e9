#include "mpi/rma/backend/deferred_locks.hpp"

#include <sched.h>

#include <algorithm>
#include <mutex>
#include <new>

#include "mpi/core/acquires.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {
namespace {

/// Differs for any two threads that are alive.
const void* this_thread() { return &depth; }

}  // namespace

bool DeferredLocks::defer(int target, int assertion, std::uint64_t hits) {
  const std::lock_guard guard(lock_);
  // A second lock of a target is an error, which the library finds.
  if (held_back(target) != held_back_.end()) return false;
  try {
    held_back_.push_back({target, assertion, hits, nullptr});
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (count_.fetch_add(1, std::memory_order_relaxed) == 0) {
    begin_tracking();  // for the unlock
    may_hold_back_.set(true);
  }
  return true;
}

/// Under the lock.
std::vector<DeferredLocks::Lock>::iterator DeferredLocks::held_back(int target) {
  return std::find_if(held_back_.begin(), held_back_.end(),
                      [&](const Lock& lock) { return lock.target == target; });
}

bool DeferredLocks::holds_back(int target) {
  if (any()) {
    const std::lock_guard guard(lock_);
    const auto place = held_back(target);
    if (place != held_back_.end() && place->sender != this_thread()) return true;
  }
  return next_.holds_back(target);
}

/// Under the lock.
void DeferredLocks::forget(std::vector<Lock>::iterator place) {
  *place = held_back_.back();
  held_back_.pop_back();
  if (count_.fetch_sub(1, std::memory_order_release) != 1) return;
  end_tracking();
  may_hold_back_.set(next_.may_hold_back());
}

DeferredLocks::Sent::~Sent() {
  const std::lock_guard guard(locks.lock_);
  locks.forget(locks.held_back(target));
}

bool DeferredLocks::end(int target, std::uint64_t hits) {
  {
    const std::lock_guard guard(lock_);
    const auto place = held_back(target);
    if (place == held_back_.end()) return false;
    if (!place->sender && ((place->assertion & MPI_MODE_NOCHECK) != 0 || place->hits != hits)) {
      forget(place);
      tally(skipped_);
      return true;
    }
  }
  send(target);
  return false;
}

/// What reaches no target, or ends epochs of other kinds, needs no lock.
int DeferredLocks::ready_for(const rma::Sync& sync) {
  using Kind = rma::Sync::Kind;
  switch (sync.kind) {
    case Kind::fence:
    case Kind::start:
      return send_all();
    case Kind::lock:
    case Kind::flush:
      return sync.all ? send_all() : send(sync.target);
    case Kind::unlock:
      return sync.all ? MPI_SUCCESS : send(sync.target);
    case Kind::complete:
    case Kind::post:
    case Kind::wait:
    case Kind::test:
    case Kind::sync:
      break;
  }
  return MPI_SUCCESS;
}

int DeferredLocks::send(int target) {
  std::unique_lock guard(lock_);
  auto place = held_back(target);
  // An error handler of the program's may come here while its own thread sends.
  while (place != held_back_.end() && place->sender && place->sender != this_thread()) {
    guard.unlock();
    sched_yield();
    guard.lock();
    place = held_back(target);
  }
  if (place == held_back_.end() || place->sender) return MPI_SUCCESS;
  place->sender = this_thread();
  const int assertion = place->assertion;
  guard.unlock();
  const Sent sent{*this, target};
  const int error = next_.synchronise(rma::Sync::lock(MPI_LOCK_SHARED, target, assertion));
  // The acquire that the program's own call was not.
  if ((assertion & MPI_MODE_NOCHECK) == 0) note_acquire("MPI_Win_lock");
  return error;
}

int DeferredLocks::send_all() {
  for (;;) {
    int target = 0;
    {
      const std::lock_guard guard(lock_);
      const auto place = std::find_if(held_back_.begin(), held_back_.end(), [](const Lock& lock) {
        return lock.sender != this_thread();
      });
      if (place == held_back_.end()) return MPI_SUCCESS;
      target = place->target;
    }
    if (const int error = send(target)) return error;
  }
}

}  // namespace hob::mpi
