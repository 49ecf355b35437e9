#include "mpi/requests/request.hpp"

#include <cstring>
#include <mutex>
#include <new>

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
  KnownHandle& entry = registry().table.at(handle_bits(handle));
  entry.operation = &operation;
  entry.observer = nullptr;
  entry.watch = 0;
  entry.pooled = pooled;
  begins(handle);
  one_more(state.operations);
  ++registry().changes;
}

int no_query(void*, MPI_Status*) { return MPI_SUCCESS; }
int no_free(void*) { return MPI_SUCCESS; }
int no_cancel(void*, int) { return MPI_SUCCESS; }

}  // namespace

MPI_Request add(Operation& operation) {
  const std::lock_guard guard(registry().lock);
  MPI_Request handle = operation.kept.handle;
  if (handle != MPI_REQUEST_NULL) {
    ++operation.kept.in_use;
    begins(handle);
    one_more(state.operations);
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
    state.vain_polls.forget();
    KnownHandle& entry = registry().table.at(handle_bits(handle));
    if (!entry.operation && !entry.observer) {
      begins(handle);
      entry = {entry.key, nullptr, &observer, cookie, ++registry().watches, false};
      return;
    }
  }
  // A library may give all requests that are complete from the start one handle (MPICH does). Whose
  // completion comes then could not be distinguished, so these end here.
  if (many_threads || look_up(handle).watch != 0) {
    int flag = 0;
    real::Request_get_status(handle, &flag, MPI_STATUS_IGNORE);
    if (flag) {
      observer.completed(cookie, false);
      if (!observer.is_acquire()) mark_no_acquire(handle);
      return;
    }
  }
  KnownHandle before;
  {
    const std::lock_guard guard(registry().lock);
    KnownHandle& entry = registry().table.at(handle_bits(handle));
    before = entry;
    if (!entry.operation) {
      if (!entry.observer) begins(handle);
      entry.observer = &observer;
      entry.cookie = cookie;
      entry.watch = ++registry().watches;
      entry.pooled = false;
      entry.asked = 0;
      entry.more = 0;
    }
  }
  // Without the lock: observers have locks of their own, under which they come here.
  if (before.operation)  // served by ghosts: Hob's own, and no observer learns of its end
    observer.completed(cookie, true);
  else if (before.observer)  // it was completed by a call that Hob did not see
    before.observer->completed(before.cookie, true);
}

void mark_no_acquire(MPI_Request handle) {
  if (is_prebuilt(handle)) return;
  const std::lock_guard guard(registry().lock);
  KnownHandle& entry = registry().table.at(handle_bits(handle));
  if (entry.operation) return;  // Hob's own, which says so itself
  if (entry.observer) {
    ++entry.more;
    return;
  }
  begins(handle);
  entry = {.key = entry.key, .observer = &no_observer(), .watch = ++registry().watches};
}

void note_no_acquire(MPI_Request handle) noexcept {
  try {
    mark_no_acquire(handle);
  } catch (const std::bad_alloc&) {
    // One acquire more.
  }
}

Operation* find(MPI_Request handle) { return look_up(handle).operation; }

void start_through(MPI_Request handle, Operation& operation) {
  const std::lock_guard guard(registry().lock);
  Operation*& asked = registry().starts.at(handle_bits(handle)).operation;
  if (!asked) ++registry().started_through;
  asked = &operation;
  state.start_bits.store(state.start_bits.load(std::memory_order_relaxed) | start_bit(handle),
                         std::memory_order_relaxed);
}

void no_longer_start_through(MPI_Request handle) {
  const std::lock_guard guard(registry().lock);
  KnownHandle* const entry = registry().starts.find(handle_bits(handle));
  if (!entry || !std::exchange(entry->operation, nullptr)) return;
  if (--registry().started_through == 0) state.start_bits.store(0, std::memory_order_relaxed);
}

Operation* find_started_through(MPI_Request handle) {
  std::unique_lock guard(registry().lock, std::defer_lock);
  if (HOB_UNLIKELY(many_threads)) guard.lock();  // no thread of Hob's adds any
  const KnownHandle* const entry = registry().starts.find(handle_bits(handle));
  return entry ? entry->operation : nullptr;
}

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

bool seen_complete(MPI_Request request) {
  const Operation* const operation = find(request);
  if (operation) request = operation->missing();
  return request != MPI_REQUEST_NULL && library::is_complete(request);
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
  registry().table.each([&](KnownHandle& entry) {
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
  state.served.store(0, std::memory_order_relaxed);
}

}  // namespace hob::mpi::requests
