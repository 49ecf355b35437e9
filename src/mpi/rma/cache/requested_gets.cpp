// Gets with requests: what is served at once, what a get under way will bring, and what is issued.
#include <algorithm>
#include <mutex>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/requests/served.hpp"
#include "mpi/rma/cache/cached_gets.hpp"

namespace hob::mpi {
namespace {

/// A request of the library's. Leaves it as it is.
bool is_complete(MPI_Request request) {
  int flag = 0;
  return !requests::find(request) &&
         real::Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag;
}

}  // namespace

/// A get that is like one that was served, and nothing but hits came in between.
bool CachedGets::rget_again(const Get& get) {
  const std::lock_guard guard(lock_.without_calls());
  learning_.requested(context().one_node);
  if (get.result.type != get.target_type || get.result.count != get.target_count ||
      !serve_again({.buffer = get.result.address,
                    .count = get.target_count,
                    .type = handle_bits(get.target_type),
                    .displacement = get.disp,
                    .target = get.target}))
    return false;
  *get.request = requests::served();
  request_groups_.add(get.result.address, true);
  if (recalling_) recalling_->requested = true;
  return true;
}

int CachedGets::rget(const Get& get) {
  if (rget_again(get)) return MPI_SUCCESS;
  Requested made{get.request};
  int result = MPI_SUCCESS;
  {
    std::unique_lock guard(lock_);
    ++stats_.gets;
    const bool somewhere = get.target >= 0 && get.target < window_.size;
    TargetState nowhere;
    TargetState& t = somewhere ? target(get.target) : nowhere;
    const CacheableGet wanted = somewhere ? cacheable(get, t) : CacheableGet{};
    if (!wanted.remote) {
      request_groups_.add(get.result.address, false);
      if (waits_for_lock(get.target)) result = let_in(get.target, guard);
      if (result == MPI_SUCCESS) result = native(get, t);
      if (result != MPI_SUCCESS || tracking_off()) return result;
      try {
        requests::mark_no_acquire(*get.request);
      } catch (const std::bad_alloc&) {
        // One acquire more.
      }
      return result;
    }
    const bool watched = ahead_ && HOB_UNLIKELY(ahead_->readahead.recording()) && wanted.contiguous;
    cache::Lookup hit = cache_->find(wanted.key, wanted.size);
    if (waits_for_lock(get.target)) result = look_again(get, t, wanted, guard, hit);
    if (HOB_LIKELY(result == MPI_SUCCESS)) result = answer(get, t, wanted, hit, made);
    if (recalling_) {
      recalling_->requested = true;
      after_look_up(get, t, wanted, hit, result == MPI_SUCCESS, true);
    }
    request_groups_.add(get.result.address, made.served);
    if (watched) watch(wanted, hit);
  }
  // Without the lock: the request layer may call back at once, and a flush block.
  if (HOB_UNLIKELY(batches_->full.get())) backend_.keep_bounds(get.target);
  if (made.watch != 0) watch_->watch(*get.request, made.watch);
  return result;
}

/// A program that waits for requests alone never flushes, so writes that are only assumed would be
/// in the way for good: they are completed here, as may be done wherever MPI_Rget is allowed.
void CachedGets::settle_assumed_writes(int rank, TargetState& t) {
  if (!t.writing() || t.written != t.assumed || many_threads) return;
  if (backend_.synchronise(rma::Sync::flush(rank)) == MPI_SUCCESS) t.settled = t.written;
}

/// A hit that is not due to be fetched again. False if there is no memory for its request.
bool CachedGets::serve_request(const Get& get, TargetState& t, const CacheableGet& wanted,
                               const cache::Lookup& hit, std::uint64_t now, Requested& made) {
  if (!begin_request({}, *made.request)) return false;
  made.served = true;
  serve(get, t, wanted, hit, now);
  return true;
}

/// The request of a get whose bytes these gets under way bring, or that was served already. False
/// if there is no memory for it.
bool CachedGets::begin_request(const std::array<std::uint64_t, 2>& awaited, MPI_Request& request) {
  try {
    if (awaited[0] == 0 && awaited[1] == 0)
      request = requests::served();
    else
      RequestedGet::begin(*watch_, awaited, request);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// A hit on bytes that a get under way will bring of which Hob can ask whether they have arrived.
/// False if the get must be issued.
bool CachedGets::join(const Get& get, const CacheableGet& wanted, const cache::Lookup& hit,
                      TargetState& t, Requested& made) {
  if (!will_bring(get, wanted, hit) || under_way_[hit.cookie].request == 0 ||
      under_way_.waiters_full())
    return false;
  try {
    under_way_.room_for_waiters(1);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return begin_request({requests_.cookie_of(hit.cookie), 0}, *made.request) &&
         serve_pending(get, t, wanted, hit);
}

/// What a get that was complete in its call, and took `first`, takes once its pages were touched: a
/// first touch makes near memory look far.
std::uint64_t CachedGets::time_again(const Get& get, std::uint64_t first) {
  MPI_Request request = MPI_REQUEST_NULL;
  Get again = get;
  again.request = &request;
  const std::uint64_t start = ticks();
  if (backend_.issue(again) != MPI_SUCCESS) return first;
  const std::uint64_t spent = ticks() - start;
  requests::wait(&request, MPI_STATUS_IGNORE);
  return std::min(first, spent);
}

/// Gives a get to the library, or to a ghost: plan `refetch`, `exact` or `unkept`.
int CachedGets::issue_requested(const Get& get, TargetState& t, const CacheableGet& wanted,
                                const cache::Lookup& hit, Plan plan, Requested& made) {
  const bool again = plan == Plan::refetch;
  const std::uint64_t start = ahead_ || HOB_UNLIKELY(t.profile.sampling()) ? ticks() : 0;
  const int result = native(get, t);
  if (result != MPI_SUCCESS) return result;
  const std::uint64_t now = ticks();
  // On one node a library may copy the bytes in the call. Waits for requests alone say little
  // there.
  if (HOB_UNLIKELY(t.profile.sampling()) && start != 0 && context().one_node &&
      is_complete(*made.request))
    learning_.arrived_at_once(t, get.target, wanted.size,
                              many_threads ? now - start : time_again(get, now - start));
  try {
    if (plan == Plan::unkept || under_way_.full()) {
      requests::mark_no_acquire(*made.request);
      return result;
    }
    const std::uint32_t index =
        under_way_.add(t.pending, get.target,
                       {.buffer = get.result.address,
                        .layout = wanted.origin,
                        .bytes = wanted.size,
                        .issue_ticks = start != 0 ? now - start : 0,
                        .when = now,
                        .purpose = again ? Purpose::refetch : Purpose::requested});
    PendingGet& pending = under_way_[index];
    if (again) {
      ++stats_.refetches;
      pending.speculative = hit.tag != 0;
      refetch_begins(pending.speculative, now);
      pending.entry = hit.entry;
      pending.offset = hit.offset;
    } else {
      learning_.missed(t, in_batch());
      if (ahead_) ahead_->trip(wanted.size, wanted.size, cache_->stats().gets);
      fetches(get.target, t, wanted.key.displacement, wanted.extent(get));
      pending.entry =
          cache_->reserve(wanted.key, wanted.size, {.extent = wanted.extent(get), .cookie = index})
              .entry;
    }
    // A watch does not see the end of a request of Hob's own.
    if (requests::find(*made.request)) {
      MPI_Request handle = MPI_REQUEST_NULL;
      RequestedGet::begin(*watch_, {requests_.cookie_of(index), 0}, handle);
      pending.request = handle_bits(*made.request);
      *made.request = handle;
      return result;
    }
    made.watch = requests_.cookie_of(index);
  } catch (const std::bad_alloc&) {
    // Not kept: the request is the backend's own.
  }
  return result;
}

/// It has arrived, after the program waited for it, if it did. Those that were under way beside it
/// took part of that time, and what is waited for them later is no price.
void CachedGets::measure_request(TargetState& t, const PendingGet& pending) {
  if (recalling_ && std::exchange(recalling_->requested, false)) completed_something();
  if (pending.asked == 0 || many_threads) return;
  const std::uint64_t now = ticks();
  const std::uint64_t waited = now - pending.asked;
  waited_in_phase(waited);
  if (waits_) waits_->waited(waited, now, 1, [&] { return cache_->stats().ahead_bytes; });
  learning_.waited_for_request(t, pending.when, waited, now, in_batch());
}

void CachedGets::request_asked(std::uint64_t cookie) {
  const Entered guard(*this);
  if (PendingGet* const pending = requests_.find(cookie); pending && pending->asked == 0)
    pending->asked = ticks();
}

void CachedGets::request_completed(std::uint64_t cookie, bool freed) {
  const Entered guard(*this);
  PendingGet* const pending = requests_.find(cookie);
  if (!pending) return;
  apply_acquires();
  TargetState& t = targets_.used(pending->rank);
  if (freed) {  // it is not known until when the program leaves the buffer as it is
    pending->purpose == Purpose::refetch ? cache_->drop(pending->entry)
                                         : cache_->abandon(pending->entry);
  } else {
    measure_request(t, *pending);
    finish(*pending);
  }
  // A program may never flush: the slot is free now.
  under_way_.remove(t.pending, gets::RequestBook::index_of(cookie));
}

MPI_Request CachedGets::request_of(std::uint64_t cookie) {
  const Entered guard(*this);
  const PendingGet* const pending = requests_.find(cookie);
  if (!pending || pending->request == 0) return MPI_REQUEST_NULL;
  return handle_of<MPI_Request>(pending->request);
}

bool CachedGets::request_arrived(std::uint64_t cookie, int& error) {
  const Entered guard(*this);
  PendingGet* const pending = requests_.find(cookie);
  if (!pending) {
    error = requests_.error_of(cookie, error);
    return true;
  }
  if (pending->asked == 0) pending->asked = ticks();
  auto handle = handle_of<MPI_Request>(pending->request);
  int flag = 0;
  error = requests::test(&handle, &flag, MPI_STATUS_IGNORE);
  if (!flag && error == MPI_SUCCESS) return false;
  progress_.entered(ticks());
  apply_acquires();
  TargetState& t = targets_.used(pending->rank);
  if (error == MPI_SUCCESS) measure_request(t, *pending);
  finish(*pending);
  under_way_.remove(t.pending, gets::RequestBook::index_of(cookie));
  if (HOB_UNLIKELY(error != MPI_SUCCESS)) {
    drop_everything();
    requests_.failed(cookie, error);
  }
  return true;
}

}  // namespace hob::mpi
