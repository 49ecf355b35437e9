#include "mpi/rma/backend/deferred_locks.hpp"

#include <algorithm>
#include <new>

#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {

bool DeferredLocks::defer(int target, int assertion, std::uint64_t hits) {
  const std::lock_guard guard(lock_);
  // A second lock of a target is an error, which the library finds.
  if (std::any_of(held_back_.begin(), held_back_.end(),
                  [&](const Lock& lock) { return lock.target == target; }))
    return false;
  try {
    held_back_.push_back({target, assertion, hits});
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (count_.fetch_add(1, std::memory_order_relaxed) == 0) wake();  // for the unlock
  return true;
}

/// Under the lock.
void DeferredLocks::forget(std::vector<Lock>::iterator place) {
  *place = held_back_.back();
  held_back_.pop_back();
  if (count_.fetch_sub(1, std::memory_order_relaxed) == 1) rest();
}

bool DeferredLocks::take(int target, Lock& lock) {
  const std::lock_guard guard(lock_);
  const auto place = std::find_if(held_back_.begin(), held_back_.end(),
                                  [&](const Lock& each) { return each.target == target; });
  if (place == held_back_.end()) return false;
  lock = *place;
  forget(place);
  return true;
}

bool DeferredLocks::end(int target, std::uint64_t hits) {
  Lock lock{};
  if (!take(target, lock)) return false;
  if ((lock.assertion & MPI_MODE_NOCHECK) != 0 || lock.hits != hits) {
    tally(skipped_);
    return true;
  }
  send(lock);
  return false;
}

int DeferredLocks::send(const Lock& lock) {
  const int error = next_->lock(MPI_LOCK_SHARED, lock.target, lock.assertion);
  // The acquire that the program's own call was not.
  if ((lock.assertion & MPI_MODE_NOCHECK) == 0) note_acquire("MPI_Win_lock");
  return error;
}

int DeferredLocks::send(int target) {
  Lock lock{};
  return take(target, lock) ? send(lock) : MPI_SUCCESS;
}

int DeferredLocks::send_all() {
  for (;;) {
    Lock lock{};
    {
      const std::lock_guard guard(lock_);
      if (held_back_.empty()) return MPI_SUCCESS;
      lock = held_back_.back();
      forget(held_back_.end() - 1);
    }
    if (const int error = send(lock)) return error;
  }
}

}  // namespace hob::mpi
