// The whole of MPI_Get and MPI_Rget: what may be looked up is, and the rest goes to the library.
#include <mutex>
#include <new>

#include "mpi/core/accelerator.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/requests/served.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/cache/hot_gets.hpp"
#include "mpi/rma/cache/tracing.hpp"

namespace hob::mpi {
namespace {

/// Null: there is no memory for it.
const Layout* layout_or_none(MPI_Datatype type) {
  try {
    return &layout_worth_reading(type);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// Something is read, and as many bytes arrive here as are read there.
bool is_plain(const Get& get, const Layout& remote, const Layout& origin) {
  const std::uint64_t size = remote.size * static_cast<std::uint64_t>(get.target_count);
  return remote.usable && origin.usable && get.result.count >= 0 && get.target_count >= 0 &&
         size == origin.size * static_cast<std::uint64_t>(get.result.count) && size != 0 &&
         (remote.extent >= 0 || get.target_count == 1);
}

cache::Key key_of(const Get& get, const Layout& remote, std::int64_t unit, bool contiguous) {
  const std::int64_t first = static_cast<std::int64_t>(get.disp) * unit + remote.low;
  return {static_cast<std::uint32_t>(get.target), static_cast<std::uint64_t>(first),
          contiguous ? 0 : remote.id};
}

}  // namespace

/// Lets this process in at a target whose lock is held back. Other threads must not wait meanwhile
/// for what this object guards: those that this lock waits for may wait for one of them.
int CachedGets::let_in(int rank, std::unique_lock<ExclusiveSpin>& guard) {
  guard.unlock();
  const int error = backend_.let_in(rank);
  guard.lock();
  return error;
}

/// A get of a target whose lock is held back was looked up. What is not served is issued, so that
/// the lock goes first.
int CachedGets::look_again(const Get& get, TargetState& t, const CacheableGet& wanted,
                           std::unique_lock<ExclusiveSpin>& guard, cache::Lookup& hit) {
  if (is_served({get, t, wanted, hit})) return MPI_SUCCESS;
  if (const int error = let_in(get.target, guard)) return error;
  apply_acquires();
  hit = cache_->find(wanted.key, wanted.size);
  return MPI_SUCCESS;
}

/// Decides whether a get may be looked up at all, and by which key.
CacheableGet CachedGets::cacheable(const Get& get, TargetState& t) {
  if (t.profile.bypassed() || tracking_off_for_good()) {
    // Whatever is true of one target of a node is true of the others.
    if (++stats_.bypassed % 16 == 0 && tracking_.is_on()) turn_tracking_off_for_good();
    call_in_vain();
    return skipped(get, SkipReason::bypassed);
  }
  if (get.target == window_.rank) {
    ++stats_.uncacheable;
    ++stats_.own_rank;
    call_in_vain();
    return skipped(get, SkipReason::own_rank);
  }
  if (HOB_UNLIKELY(!tracking_.is_on())) turn_tracking_on();
  const Layout* const there = layout_or_none(get.target_type);
  const Layout* const here =
      get.result.type == get.target_type ? there : layout_or_none(get.result.type);
  if (HOB_UNLIKELY(!there || !here || mode() == Mode::off)) {
    ++stats_.uncacheable;
    return skipped(get, mode() == Mode::off ? SkipReason::off : SkipReason::no_memory);
  }
  const Layout& remote = *there;
  const Layout& origin = *here;
  if (HOB_UNLIKELY(on_accelerator(static_cast<std::byte*>(get.result.address) + origin.low))) {
    ++stats_.uncacheable;
    ++stats_.device_buffers;
    return skipped(get, SkipReason::device);
  }
  const std::uint64_t size = remote.size * static_cast<std::uint64_t>(get.target_count);
  const bool plain = is_plain(get, remote, origin);
  if (HOB_UNLIKELY(!plain || (get.is_atomic() && mode() == Mode::automatic &&
                              !options_.atomic_reads_are_gets))) {
    ++stats_.uncacheable;
    return skipped(get, plain ? SkipReason::atomic : SkipReason::irregular);
  }
  if (HOB_UNLIKELY(learning_.skips()) && !tracing) {
    ++stats_.short_lived;
    return skipped(get, SkipReason::short_lived);
  }
  const bool hidden = t.hides_trip(size);
  const bool not_reused =
      learning_.leaves(get.target, static_cast<std::uint64_t>(get.disp), size, hidden) && !tracing;
  if (HOB_UNLIKELY(not_reused) && may_leave(get, hidden)) {
    ++stats_.not_reused;
    t.left = true;
    return skipped(get, SkipReason::not_reused);
  }
  tracking_.useful();
  apply_acquires();
  const bool contiguous = one_block(remote, get.target_count);
  const cache::Key key = key_of(get, remote, units_->of(get.target), contiguous);
  const CacheableGet wanted{&remote, &origin, key, size, contiguous, not_reused};
  if (HOB_UNLIKELY(tracing))
    record({.target = key.target,
            .displacement = key.displacement,
            .size = size,
            .layout = key.layout,
            .extent = wanted.extent(get)});
  return wanted;
}

void CachedGets::pass_by(int target, std::uint64_t count) {
  constexpr std::uint32_t kBetweenLooks = 256;
  completions_.pass_by();
  // Its owner reads its own memory by gets: it need not be for loads.
  const bool may_load =
      target == window_.rank && acquires.own_epochs_of_loads.load(std::memory_order_relaxed) != 0;
  const bool look = !many_threads && count % kBetweenLooks == 0;  // else tracking never ends
  if (HOB_LIKELY(!may_load && !look)) return;
  const std::lock_guard guard(lock_);
  if (may_load) own_epoch_.end();
  if (look) call_in_vain(kBetweenLooks);
}

int CachedGets::get(const Get& get) {
  std::unique_lock guard(lock_);
  ++stats_.gets;
  if (HOB_UNLIKELY(get.target < 0 || get.target >= window_.size)) {
    // MPI_PROC_NULL, or an error, whose handler may call MPI.
    ++stats_.native_gets;
    guard.unlock();
    return backend_.issue(get);
  }
  TargetState& t = target(get.target);
  const CacheableGet wanted = cacheable(get, t);
  int result = MPI_SUCCESS;
  if (!wanted.remote) {
    if (backend_.holds_back_from_threads(get.target)) result = let_in(get.target, guard);
    if (result == MPI_SUCCESS) result = issuer_.issue(get, t);
  } else {
    const bool watched = is_watched(wanted);
    cache::Lookup hit = cache_->find(wanted.key, wanted.size);
    if (backend_.holds_back_from_threads(get.target))
      result = look_again(get, t, wanted, guard, hit);
    if (HOB_UNLIKELY(hit.tag != 0)) recalls_->drop_if_short(t, hit);
    if (HOB_LIKELY(result == MPI_SUCCESS)) result = answer({get, t, wanted, hit});
    if (recalls_ && recalls_->concerns(hit))
      recalls_->looked_up({get, t, wanted, hit}, result == MPI_SUCCESS, false);
    // While the get is under way, if one is.
    if (watched) watch(wanted, hit);
  }
  if (HOB_UNLIKELY(issuer_.batches().full.get())) {
    guard.unlock();
    backend_.keep_bounds(get.target);
  }
  return result;
}

/// A get that is like one that was served, and nothing but hits came in between.
bool CachedGets::rget_again(const Get& get) {
  const std::lock_guard guard(lock_.without_calls());
  learning_.requested(window_.one_node);
  if (get.result.type != get.target_type || get.result.count != get.target_count ||
      !serve_again({.buffer = get.result.address,
                    .count = get.target_count,
                    .type = handle_bits(get.target_type),
                    .displacement = get.disp,
                    .target = get.target}))
    return false;
  *get.request = requests::served();
  request_groups_.add(get.result.address, true);
  return true;
}

int CachedGets::rget(const Get& get) {
  if (rget_again(get)) return MPI_SUCCESS;
  MadeRequest made{get.request};
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
      if (backend_.holds_back_from_threads(get.target)) result = let_in(get.target, guard);
      if (result == MPI_SUCCESS) result = issuer_.issue(get, t);
      if (result != MPI_SUCCESS || tracking_off()) return result;
      try {
        requests::mark_no_acquire(*get.request);
      } catch (const std::bad_alloc&) {
        // One acquire more.
      }
      return result;
    }
    const bool watched = is_watched(wanted);
    cache::Lookup hit = cache_->find(wanted.key, wanted.size);
    if (backend_.holds_back_from_threads(get.target))
      result = look_again(get, t, wanted, guard, hit);
    if (HOB_UNLIKELY(hit.tag != 0)) recalls_->drop_if_short(t, hit);
    if (HOB_LIKELY(result == MPI_SUCCESS)) result = answer({get, t, wanted, hit}, made);
    if (recalls_ && recalls_->concerns(hit))
      recalls_->looked_up({get, t, wanted, hit}, result == MPI_SUCCESS, true);
    request_groups_.add(get.result.address, made.served);
    if (watched) watch(wanted, hit);
  }
  // Without the lock: the request layer may call back at once, and a flush block.
  if (HOB_UNLIKELY(issuer_.batches().full.get())) backend_.keep_bounds(get.target);
  if (made.watch != 0) requested_.watch(made);
  return result;
}

/// Readahead learns from gets that it could have spared a trip.
void CachedGets::watch(const CacheableGet& wanted, const cache::Lookup& hit) {
  cache::Readahead& readahead = ahead_->readahead;
  if (HOB_UNLIKELY(hit.tag != 0))
    readahead.on_other_hit(wanted.key.target, wanted.key.displacement);
  else
    readahead.on_get(wanted.key.target, wanted.key.displacement, wanted.size);
}

}  // namespace hob::mpi
