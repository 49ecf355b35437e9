#include "mpi/requests/request.hpp"

#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "mpi/core/context.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/requests/known.hpp"

namespace hob::mpi::requests {
namespace {

/// Under the lock. Throws std::bad_alloc.
void put_behind(MPI_Request handle, Operation& operation, bool pooled) {
  Entry& entry = registry().table.at(handle_bits(handle));
  entry.operation = &operation;
  entry.observer = nullptr;
  entry.watch = 0;
  entry.pooled = pooled;
  begins(handle);
  one_more(operations);
  ++registry().changes;
}

/// Stands for nobody: the completion tells nothing, and nobody wants to hear of it.
class NobodyHears final : public CompletionObserver {
 public:
  void completed(std::uint64_t, bool) override {}
  bool is_acquire() const override { return false; }
};
NobodyHears nobody_hears;

/// Under the lock: one of the requests with this handle is complete or gone. True if it was the
/// last; else the others are left, and nobody hears of them.
bool last_of(Entry& entry) {
  if (entry.more == 0) return true;
  --entry.more;
  entry.observer = &nobody_hears;
  return false;
}

/// Under the lock.
void end_watch(Entry& entry, MPI_Request handle) {
  entry.observer = nullptr;
  entry.watch = 0;
  ends(handle);
}

int no_query(void*, MPI_Status*) { return MPI_SUCCESS; }
int no_free(void*) { return MPI_SUCCESS; }
int no_cancel(void*, int) { return MPI_SUCCESS; }

}  // namespace

Entry look_up(MPI_Request handle) {
  if (unknown(handle)) return {};
  const std::lock_guard guard(registry().lock);
  const Entry* entry = registry().table.find(handle_bits(handle));
  return entry ? *entry : Entry{};
}

Entry take(MPI_Request handle) {
  if (unknown(handle)) return {};
  const std::lock_guard guard(registry().lock);
  Entry* entry = registry().table.find(handle_bits(handle));
  if (!entry || (!entry->operation && !entry->observer)) return {};
  const Entry taken = *entry;
  if (taken.operation) {
    one_less(operations);
    if (taken.operation->kept.shared) {
      --taken.operation->kept.in_use;
      ends(handle);
      return taken;
    }
    ++registry().changes;
    if (auto& kept = taken.operation->kept; kept.handle == handle) {
      kept.handle = MPI_REQUEST_NULL;
      kept.in_use = 0;
    }
  }
  if (!last_of(*entry)) return taken;
  entry->operation = nullptr;
  entry->observer = nullptr;
  entry->watch = 0;
  ends(handle);
  if (taken.pooled) registry().free_handles.push_back(handle);
  return taken;
}

void forget_any(MPI_Request handle) { take(handle); }

Watch take_watch(MPI_Request handle, Entry* entry) {
  if (!entry || entry->operation || !entry->observer) return {handle, 0, nullptr, 0};
  if (!many_threads) return {handle, entry->watch, nullptr, 0};
  const Watch taken{handle, entry->watch, entry->observer, entry->cookie};
  if (last_of(*entry)) end_watch(*entry, handle);
  return taken;
}

void tell_complete(Watch& watch) {
  if (watch.number == 0) return;
  CompletionObserver* const observer = std::exchange(watch.observer, nullptr);
  const std::uint64_t number = std::exchange(watch.number, 0);
  if (!observer) return tell_complete(watch.handle, number);
  observer->completed(watch.cookie, false);
}

void tell_complete(MPI_Request handle, std::uint64_t last) {
  CompletionObserver* observer = nullptr;
  std::uint64_t cookie = 0;
  {
    const std::lock_guard guard(registry().lock);
    Entry* entry = known(handle);
    if (!entry || !entry->observer || entry->watch > last) return;
    observer = entry->observer;
    cookie = entry->cookie;
    if (last_of(*entry)) end_watch(*entry, handle);
  }
  observer->completed(cookie, false);
}

void put_back(Watch& watch, bool unwound) {
  CompletionObserver* const observer = std::exchange(watch.observer, nullptr);
  if (!observer) return;
  if (!unwound) try {
      const std::lock_guard guard(registry().lock);
      Entry& entry = registry().table.at(handle_bits(watch.handle));
      if (entry.observer == &nobody_hears && observer == &nobody_hears) {
        ++entry.more;
        return;
      }
      if (!entry.operation && !entry.observer) {
        begins(watch.handle);
        entry = {
            .key = entry.key, .observer = observer, .cookie = watch.cookie, .watch = watch.number};
        return;
      }
    } catch (const std::bad_alloc&) {
      // Nobody hears of it, then.
    }
  observer->completed(watch.cookie, true);
}

MPI_Request add(Operation& operation) {
  const std::lock_guard guard(registry().lock);
  MPI_Request handle = operation.kept.handle;
  if (handle != MPI_REQUEST_NULL) {
    ++operation.kept.in_use;
    begins(handle);
    one_more(operations);
    return handle;
  }
  if (registry().free_handles.empty()) {
    real::Grequest_start(no_query, no_free, no_cancel, nullptr, &handle);
  } else {
    handle = registry().free_handles.back();
    registry().free_handles.pop_back();
  }
  put_behind(handle, operation, true);
  if (operation.kept.wanted) {
    operation.kept.in_use = 1;
    operation.kept.handle = handle;
  }
  return handle;
}

void stand_behind(MPI_Request handle, Operation& operation) {
  const std::lock_guard guard(registry().lock);
  put_behind(handle, operation, false);
}

void watch(MPI_Request handle, CompletionObserver& observer, std::uint64_t cookie) {
  if (handle == MPI_REQUEST_NULL) return;
  if (!many_threads) {
    Entry& entry = registry().table.at(handle_bits(handle));
    if (!entry.operation && !entry.observer) {
      begins(handle);
      entry = {entry.key, nullptr, &observer, cookie, ++registry().watches, false};
      return;
    }
  }
  // A library may give all requests that are complete from the start one handle (MPICH does). Whose
  // completion is heard then could not be told apart, so these end here.
  if (many_threads || look_up(handle).watch != 0) {
    int flag = 0;
    real::Request_get_status(handle, &flag, MPI_STATUS_IGNORE);
    if (flag) {
      observer.completed(cookie, false);
      if (!observer.is_acquire()) mark_no_acquire(handle);
      return;
    }
  }
  Entry before;
  {
    const std::lock_guard guard(registry().lock);
    Entry& entry = registry().table.at(handle_bits(handle));
    before = entry;
    if (!entry.operation) {
      if (!entry.observer) begins(handle);
      entry.observer = &observer;
      entry.cookie = cookie;
      entry.watch = ++registry().watches;
      entry.pooled = false;
      entry.more = 0;
    }
  }
  // Without the lock: observers have locks of their own, under which they come here.
  if (before.operation)  // served by ghosts: Hob's own, and nobody is told of its end
    observer.completed(cookie, true);
  else if (before.observer)  // it was completed by a call that Hob did not see
    before.observer->completed(before.cookie, true);
}

void mark_no_acquire(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL) return;
  const std::lock_guard guard(registry().lock);
  Entry& entry = registry().table.at(handle_bits(handle));
  if (entry.operation) return;  // Hob's own, which says so itself
  if (entry.observer) {
    ++entry.more;
    return;
  }
  begins(handle);
  entry = {.key = entry.key, .observer = &nobody_hears, .watch = ++registry().watches};
}

Operation* find(MPI_Request handle) { return look_up(handle).operation; }

void withdraw(MPI_Request handle) { take(handle); }

const MPI_Status& empty_status() {
  static const MPI_Status empty = [] {
    MPI_Status status;
    std::memset(&status, 0, sizeof status);
    MPI_Request null = MPI_REQUEST_NULL;
    real::Wait(&null, &status);
    return status;
  }();
  return empty;
}

void drive_progress() {
  // MPICH's probe leaves others' gets over TCP where they are.
  if (library::kTraits.probe_drives_progress && context().world) {
    int found = 0;
    real::Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &found, MPI_STATUS_IGNORE);
    return;
  }
  MPI_Request never = MPI_REQUEST_NULL;
  {
    const std::lock_guard guard(registry().lock);
    if (registry().never == MPI_REQUEST_NULL)
      real::Grequest_start(no_query, no_free, no_cancel, nullptr, &registry().never);
    never = registry().never;
  }
  int flag = 0;
  real::Request_get_status(never, &flag, MPI_STATUS_IGNORE);
}

void release_handles() {
  const std::lock_guard guard(registry().lock);
  if (registry().never != MPI_REQUEST_NULL) {
    real::Grequest_complete(registry().never);
    real::Wait(&registry().never, MPI_STATUS_IGNORE);
  }
  registry().table.each([&](Entry& entry) {
    Operation* operation = entry.operation;
    if (!entry.pooled || !operation || operation->kept.in_use != 0 ||
        handle_bits(operation->kept.handle) != entry.key)
      return;
    registry().free_handles.push_back(operation->kept.handle);
    operation->kept.handle = MPI_REQUEST_NULL;
    entry.operation = nullptr;
  });
  for (MPI_Request& handle : registry().free_handles) {
    registry().table.at(handle_bits(handle)).pooled = false;
    real::Grequest_complete(handle);
    real::Wait(&handle, MPI_STATUS_IGNORE);
  }
  registry().free_handles.clear();
}

}  // namespace hob::mpi::requests
