// Calls that the library alone serves in programs with several threads, where tracking is always
// on. Counted in memory of each thread's own: an atomic addition costs a tenth of a small get. All
// of it is inlined, so that a wrapper saves no registers for it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "mpi/core/acquires.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/pmpi/state.hpp"
#include "mpi/requests/lookup.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/rma/backend/outstanding.hpp"
#include "mpi/rma/cache/own_rank.hpp"
#include "mpi/rma/cache/state.hpp"
#include "mpi/rma/incoming.hpp"
#include "mpi/rma/state.hpp"

namespace hob::mpi {

namespace direct {

inline std::size_t slot_of(MPI_Win window) { return handle_hash(handle_bits(window), kSlotBits); }

/// Which calls on the window, whose slot this is, this thread may count.
[[gnu::always_inline]] inline Open open_for(std::size_t slot, MPI_Win window) {
  const Slot& its = slots[slot];
  return its.handle.load(std::memory_order_acquire) == handle_bits(window) && own_counts
             ? its.open.load(std::memory_order_relaxed)
             : Open::none;
}
[[gnu::always_inline]] inline bool is_open(std::size_t slot, MPI_Win window) {
  return open_for(slot, window) == Open::all;
}

/// Counts an operation; `request`: it makes one, which is given to made_request().
[[gnu::always_inline]] inline void count(std::size_t slot, Kind kind, bool request) {
  own_counts->add(slot, kind);
  if (request) own_counts->add(slot, kRequested);
}

/// Counts an operation that the library alone is to serve. False, and nothing counted, if the hook
/// must see it.
[[gnu::always_inline]] inline bool counted(MPI_Win window, Kind kind, bool request) {
  const std::size_t slot = slot_of(window);
  if (!is_open(slot, window)) return false;
  count(slot, kind, request);
  return true;
}

/// The same of a get, where no incoming buffer is compared.
[[gnu::always_inline]] inline bool counted_get(MPI_Win window, int target, bool request) {
  const std::size_t slot = slot_of(window);
  const Open open = open_for(slot, window);
  if (open == Open::none) return false;
  const bool own = slots[slot].rank.load(std::memory_order_relaxed) == target;
  if (HOB_UNLIKELY(open == Open::own) &&
      (!own || acquires.own_epochs_of_loads.load(std::memory_order_relaxed) != 0))
    return false;
  count(slot, own ? kOwnGets : kGets, request);
  return true;
}

/// The same of a fetching atomic. Returns where the caller adds its target after the library's
/// call; null: the hook must see it.
[[gnu::always_inline]] inline Outstanding* counted_atomic(MPI_Win window) {
  return counted(window, kAtomics, false)
             ? slots[slot_of(window)].results.load(std::memory_order_relaxed)
             : nullptr;
}

/// Of a window whose cache nothing need be said of calls on the own rank, `target`; null otherwise.
inline OwnRank* own_rank_of(MPI_Win window, std::size_t slot, int target) {
  return open_for(slot, window) == Open::own &&
                 slots[slot].rank.load(std::memory_order_relaxed) == target
             ? slots[slot].own.load(std::memory_order_relaxed)
             : nullptr;
}

/// A write to the own rank is counted, and noted in what this returns, which the caller does again
/// after the library's call. Null: the hook must see it.
inline validation::OwnMarks* counted_own_write(MPI_Win window, int target, Kind kind,
                                               bool request) {
  const std::size_t slot = slot_of(window);
  OwnRank* const own = own_rank_of(window, slot, target);
  if (!own) return nullptr;
  own->marks.note();
  count(slot, kind, request);
  return &own->marks;
}

/// Where a flush of the own rank is noted, which the library alone is to serve; null otherwise.
inline validation::OwnMarks* flushes_own(MPI_Win window, int target) {
  const std::size_t slot = slot_of(window);
  OwnRank* const own = own_rank_of(window, slot, target);
  return own && own->flushes_alone.load(std::memory_order_relaxed) &&
                 slots[slot].results.load(std::memory_order_relaxed)->none() &&
                 parts_under_way.load(std::memory_order_relaxed) == 0
             ? &own->marks
             : nullptr;
}

struct Place {
  MPI_Win window;
  int target;
  MPI_Aint disp;
};
/// The library alone has served a get or a write with a request: its completion is no acquire.
void note_request(MPI_Request request, const Place& place);
[[gnu::always_inline]] inline void made_request(int result, const MPI_Request* request,
                                                const Place& place) {
  if (HOB_LIKELY(result == MPI_SUCCESS) && !requests::is_prebuilt(*request))
    note_request(*request, place);
}

/// Whether the library alone may serve a call that waits for operations to `target` (kAll: to all
/// targets), while nothing is under way.
inline constexpr int kAll = -1;
[[gnu::always_inline]] inline bool may_complete(MPI_Win window, std::size_t slot, int target) {
  return is_open(slot, window) &&
         (target == kAll ||
          (target >= 0 && target < slots[slot].size.load(std::memory_order_relaxed)));
}
/// The same where nothing is learned from its end, and it is none of the few that are timed.
[[gnu::always_inline]] inline bool completes(MPI_Win window, int target) {
  const std::size_t slot = slot_of(window);
  return may_complete(window, slot, target) &&
         slots[slot].results.load(std::memory_order_relaxed)->none() && --own_counts->untimed > 0;
}
/// Where it may bring results of atomics: their targets; null otherwise.
inline Outstanding* completes_results(MPI_Win window, int target) {
  const std::size_t slot = slot_of(window);
  if (!may_complete(window, slot, target) || !nothing_under_way()) return nullptr;
  Outstanding* const results = slots[slot].results.load(std::memory_order_relaxed);
  return results->none() ? nullptr : results;
}

/// Whether the call under way that waits for the window's targets is one of those few.
inline bool is_sampled(MPI_Win window) {
  return many_threads && is_open(slot_of(window), window) && own_counts->untimed <= 0;
}
/// After it: of so many such calls of this thread, the last one is the next.
inline void time_next(int interval) {
  if (HOB_UNLIKELY(own_counts != nullptr) && own_counts->untimed <= 0)
    own_counts->untimed = interval;
}

/// What a window gives to its slot; all of it lives as long as the window.
struct Counted {
  Open open;
  std::array<std::uint64_t*, kKinds> counters;
  Outstanding* results;
  OwnRank* own;
  int rank, size;
};

/// Gives this thread its counts. Without memory for them, the hooks see all of its calls.
void give_counts();
bool holds_slot(MPI_Win window);
void take_slot(MPI_Win window, const Counted& counted);

/// From now on, such calls of this thread on the window are only counted, if its slot is free or
/// its own and `may_open()` says so under the lock that forget() takes. Thread safe.
template <class May>
void remember(MPI_Win window, const Counted& counted, May may_open) {
  if (!own_counts) give_counts();
  if (holds_slot(window)) return;
  const std::lock_guard guard(slots.lock);
  if (may_open()) take_slot(window, counted);
}

/// Its hook must see all calls from now on. Thread safe.
void forget(MPI_Win window);
/// The same, of all windows.
void forget_all();

/// Adds to the window's counters what threads have counted. Thread safe.
void collect(MPI_Win window);
/// Before the window is freed: no thread uses it any more.
void release(MPI_Win window);

}  // namespace direct
}  // namespace hob::mpi
