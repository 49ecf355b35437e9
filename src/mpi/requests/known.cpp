#include "mpi/requests/known.hpp"

#include <mutex>
#include <new>
#include <utility>

#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/spin.hpp"

namespace hob::mpi::requests {
namespace {

class NoObserver final : public CompletionObserver {
 public:
  void completed(std::uint64_t, bool) override {}
  bool is_acquire() const override { return false; }
};

}  // namespace

CompletionObserver& no_observer() {
  static constinit NoObserver only;  // of all requests: it has no state
  return only;
}

bool last_of(KnownHandle& entry) {
  if (entry.more == 0) return true;
  --entry.more;
  entry.observer = &no_observer();
  return false;
}

void end_watch(KnownHandle& entry, MPI_Request handle) {
  entry.observer = nullptr;
  entry.watch = 0;
  ends(handle);
}

KnownHandle look_up(MPI_Request handle) {
  if (unknown(handle)) return {};
  const std::lock_guard guard(registry().lock);
  const KnownHandle* entry = registry().table.find(handle_bits(handle));
  return entry ? *entry : KnownHandle{};
}

KnownHandle take(MPI_Request handle) {
  if (unknown(handle)) return {};
  const std::lock_guard guard(registry().lock);
  KnownHandle* entry = registry().table.find(handle_bits(handle));
  if (!entry || (!entry->operation && !entry->observer)) return {};
  const KnownHandle taken = *entry;
  if (taken.operation) {
    one_less(state.operations);
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

Watch take_watch(MPI_Request handle, KnownHandle* entry) {
  if (!entry || entry->operation || !entry->observer) return {handle, 0, nullptr, 0};
  if (!many_threads) return {handle, entry->watch, nullptr, 0};
  const Watch taken{handle, entry->watch, entry->observer, entry->cookie, entry->asked};
  if (last_of(*entry)) end_watch(*entry, handle);
  return taken;
}

void notify_complete(Watch& watch, bool failed) {
  if (watch.number == 0) return;
  CompletionObserver* const observer = std::exchange(watch.observer, nullptr);
  const std::uint64_t number = std::exchange(watch.number, 0);
  if (!observer) return notify_complete(watch.handle, number, failed);
  observer->completed(watch.cookie, failed);
}

void notify_complete(MPI_Request handle, std::uint64_t last, bool failed) {
  CompletionObserver* observer = nullptr;
  std::uint64_t cookie = 0;
  {
    const std::lock_guard guard(registry().lock);
    KnownHandle* entry = known(handle);
    if (!entry || !entry->observer || entry->watch > last) return;
    observer = entry->observer;
    cookie = entry->cookie;
    if (last_of(*entry)) end_watch(*entry, handle);
  }
  observer->completed(cookie, failed);
}

void put_back(Watch& watch, bool unwound) {
  CompletionObserver* const observer = std::exchange(watch.observer, nullptr);
  if (!observer) return;
  const bool ends = watch.asked >= tuning::kAsksPerWatch && observer->may_end();
  if (!unwound && !ends) try {
      const std::lock_guard guard(registry().lock);
      KnownHandle& entry = registry().table.at(handle_bits(watch.handle));
      if (entry.observer == &no_observer() && observer == &no_observer()) {
        ++entry.more;
        return;
      }
      if (!entry.operation && !entry.observer) {
        begins(watch.handle);
        entry = {.key = entry.key,
                 .observer = observer,
                 .cookie = watch.cookie,
                 .watch = watch.number,
                 .asked = watch.asked + 1};
        return;
      }
    } catch (const std::bad_alloc&) {
      // No observer learns of it, then.
    }
  observer->completed(watch.cookie, true);
}

}  // namespace hob::mpi::requests
