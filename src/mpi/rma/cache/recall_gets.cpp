// Gets of what phases like the present one have read: how they are issued, and what happens when
// they arrive.
#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/requests/completion.hpp"
#include "mpi/rma/batch/indexed.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/cache/hit_cost.hpp"
#include "mpi/rma/cache/recalling.hpp"

namespace hob::mpi {

void CachedGets::recall(Backend& carrier, bool indexed, recall::Room& room) {
  recalling_.reset(new (std::nothrow) Recalling(
      carrier, indexed, room,
      {.hits = ~std::uint32_t{0},
       .age = ticks_in(options_.poll_nanoseconds) / tuning::gets::kAheadAgesFaster,
       .share = options_.poll_share}));
}

void CachedGets::reaches_all(bool all) {
  if (!recalling_) return;
  const std::lock_guard guard(lock_);
  recalling_->reaches_all = all;
}

/// Whether a get may be one of a phase: see docs/consistency.md for each condition.
bool CachedGets::may_recall(const Get& get, const CacheableGet& wanted) const {
  return !recalling_->ended && mode() == Mode::automatic && wanted.contiguous && !get.is_atomic() &&
         !sharing_.on();
}

/// After a get was looked up and answered: what the record has to know of it, and what is fetched
/// beside it.
void CachedGets::after_look_up(const Get& get, TargetState& t, const CacheableGet& wanted,
                               const cache::Lookup& hit, bool issued, bool requested) {
  recall::Recall& memory = recalling_->memory;
  if (HOB_UNLIKELY(hit.tag != 0)) {
    if (const std::uint64_t bytes = memory.used(hit.tag); bytes != 0) {
      ++stats_.recall_used;
      stats_.recall_used_bytes += bytes;
    }
    return;
  }
  const bool missing = hit.kind == cache::Hit::missing;
  const bool partly = hit.kind == cache::Hit::partial || hit.kind == cache::Hit::pending_partial;
  const bool ahead = hit.block != 0 && hit.consecutive <= 1;
  if (HOB_LIKELY(!missing && !partly && !ahead) || !memory.recording() || !may_recall(get, wanted))
    return;
  memory.missed(wanted.key.target, wanted.key.displacement, wanted.size);
  if (issued) memory.spent(recalling_->issue);
  if (!missing || !issued || t.writing()) return;
  if (t.profile.too_quick_for_blocks(meter_.profile(), hit_cost().of(wanted.size),
                                     context().one_node))
    return;
  recall_like(get, t, wanted, requested);
}

/// A get is missing, and was issued: an epoch is open at its target.
void CachedGets::recall_like(const Get& get, TargetState& t, const CacheableGet& wanted,
                             bool requested) {
  Recalling& r = *recalling_;
  // Of those that go one by one, no request tells that all of them have arrived.
  if (requested && !r.indexed) return;
  const double tick = ticks_per_nanosecond();
  const recall::Prices prices{
      .latency = ahead_ ? ahead_->cost.latency() : tuning::gets::kFirstLatencyNs * tick,
      .issue = in_batch() ? 0 : r.issue,
      .batch = 2 * r.issue,
      .per_byte = tuning::gets::kFirstNsPerByte * tick};
  const std::uint64_t room =
      std::min(cache_->most_storage_bytes() / 2, tuning::gets::kMostRecalled);
  const bool all = r.reaches_all && !requested;
  std::span<const std::uint32_t> places =
      r.memory.choose(wanted.key.target, wanted.key.displacement, wanted.size, all, room, prices);
  if (places.empty()) return;
  const std::uint64_t start = ticks();
  finish_old_recalls(t);
  while (!places.empty()) {
    const auto rank = static_cast<int>(r.memory.place(places[0]).target());
    std::size_t end = 1;
    while (end < places.size() &&
           r.memory.place(places[end]).target() == static_cast<std::uint32_t>(rank))
      ++end;
    for (std::span<const std::uint32_t> its = places.first(end); !its.empty();) {
      const std::size_t done = issue_recall(rank, its, wanted, requested && rank == get.target);
      if (done == 0) break;
      its = its.subspan(done);
    }
    places = places.subspan(end);
  }
  r.memory.spent(static_cast<double>(ticks() - start));
}

/// Gives the first of these places, of no more than `most_bytes`, entries that `cookie` will bring.
/// Returns how many were looked at.
std::uint32_t CachedGets::reserve_recalled(AheadFetch& fetch, std::span<const std::uint32_t> places,
                                           const CacheableGet& wanted, std::uint32_t cookie,
                                           std::uint64_t most_bytes) {
  recall::Recall& memory = recalling_->memory;
  const auto unit = static_cast<std::uint64_t>(
      std::max<std::int64_t>(units_->of(static_cast<int>(memory.place(places[0]).target())), 1));
  const std::size_t most =
      recalling_->indexed ? tuning::gets::kMostRecalledPlaces : tuning::gets::kMostRecalledSingly;
  std::uint64_t bytes = 0;
  std::uint32_t done = 0;
  bool sorted = true;
  for (const std::uint32_t index : places) {
    const recall::Place& place = memory.place(index);
    std::uint64_t begin = place.displacement();
    if (fetch.recalled.size() == most || bytes + place.bytes() > most_bytes) break;
    ++done;
    const bool has_it = place.contains(wanted.key.target, wanted.key.displacement, wanted.size);
    // Its first bytes are under way already, for the program.
    if (has_it && begin == wanted.key.displacement && place.bytes() > wanted.size)
      begin += wanted.size;
    const cache::Key key{place.target(), begin, 0};
    if (cache_->entry_of(key) || cache_->in_blocks(place.target(), begin, place.end() - begin)) {
      memory.present(index);
      continue;
    }
    if (!recalling_->indexed && begin % unit != 0) continue;
    const cache::EntryId entry =
        cache_->reserve(key, place.end() - begin, {.cookie = cookie, .tag = memory.tag(index)})
            .entry;
    if (!entry) continue;
    sorted = sorted && (fetch.recalled.empty() || fetch.recalled.back().displacement < begin);
    fetch.recalled.push_back({entry, begin, place.end() - begin, bytes});
    bytes += place.end() - begin;
    memory.fetched(index);
    ++stats_.recalled;
    stats_.recall_bytes += place.bytes();
  }
  if (!sorted) gets::sort_by_displacement(fetch.recalled);
  return done;
}

/// Fetches the first of these places of a target, as many as go at once. Returns how many these
/// are; 0: no more.
std::size_t CachedGets::issue_recall(int rank, std::span<const std::uint32_t> places,
                                     const CacheableGet& wanted, bool requested) {
  Recalling& r = *recalling_;
  TargetState& t = target(rank);
  if (rank == window_.rank || t.profile.bypassed() || t.writing() || left_alone() ||
      waits_for_lock(rank) || under_way_.full() || units_->of(rank) <= 0)
    return 0;
  std::uint64_t bytes = 0;
  for (const std::uint32_t index : places) bytes += r.memory.place(index).bytes();
  const std::uint64_t most = std::min(context().longest_get, tuning::batching::kMostBytes);
  std::unique_ptr<AheadFetch> fetch = r.pool.take(std::min(bytes, most));
  if (!fetch) return 0;
  std::uint32_t index = PendingGet::kNone;
  std::size_t done = 0;
  try {
    index = under_way_.add(t.pending, rank, {.purpose = Purpose::recall});
    fetch->recalled.reserve(std::min(places.size(), tuning::gets::kMostRecalledPlaces));
    done = reserve_recalled(*fetch, places, wanted, index, std::min(fetch->capacity, most));
  } catch (const std::bad_alloc&) {
    done = 0;
  }
  const auto drop = [&] {
    for (const gets::RecalledPlace& place : fetch->recalled) cache_->drop(place.entry);
    r.pool.give_back(std::move(fetch));
    if (index != PendingGet::kNone) under_way_.remove(t.pending, index);
  };
  if (done == 0 || fetch->recalled.empty()) return drop(), done;
  PendingGet& pending = under_way_[index];
  pending.doubts = coherence_.doubts.now();
  const auto [first, last] = std::pair(fetch->recalled.front(), fetch->recalled.back());
  fetches(rank, t, first.displacement, last.displacement + last.bytes - first.displacement);
  MPI_Request own = MPI_REQUEST_NULL;
  ++t.gets;
  ++stats_.native_gets;
  int result = MPI_SUCCESS;
  try {
    result = issue_places(rank, *fetch, requested ? &own : nullptr);
  } catch (const std::bad_alloc&) {
    result = MPI_ERR_NO_MEM;
  }
  if (result != MPI_SUCCESS) {
    // Some of it may be under way: its memory stays until nobody writes there any more.
    for (const gets::RecalledPlace& place : fetch->recalled) cache_->drop(place.entry);
    fetch->recalled.clear();
    r.ended = true;
  }
  pending.bytes = bytes;
  pending.when = ticks();
  if (requested) pending.request = handle_bits(own);
  pending.ahead = std::move(fetch);
  ++t.recalls;
  return result == MPI_SUCCESS ? done : 0;
}

/// As one get with an indexed datatype, or one get for each place.
int CachedGets::issue_places(int rank, const AheadFetch& fetch, MPI_Request* request) {
  Recalling& r = *recalling_;
  const auto unit = static_cast<std::uint64_t>(units_->of(rank));
  if (!r.indexed) {
    for (const gets::RecalledPlace& place : fetch.recalled) {
      const auto count = static_cast<MPI_Count>(place.bytes);
      const int error = r.carrier.issue(
          Get::get(fetch.staging.get() + place.offset, count, MPI_BYTE, rank,
                   static_cast<MPI_Aint>(place.displacement / unit), count, MPI_BYTE));
      if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
  }
  r.lane.clear();
  for (const gets::RecalledPlace& place : fetch.recalled)
    r.lane.add(place.displacement, static_cast<std::uint32_t>(place.bytes), nullptr);
  const std::uint64_t disp = fetch.recalled.front().displacement / unit;
  const Unit element = widest_unit(r.lane);
  const IndexedType there(r.lane, disp * unit, element.type, element.bytes);
  if (!there.good()) return MPI_ERR_INTERN;
  return r.carrier.issue(
      Get::get(fetch.staging.get(), static_cast<MPI_Count>(r.lane.bytes() / element.bytes),
               element.type, rank, static_cast<MPI_Aint>(disp), 1, there.get(), request));
}

/// What of that get under way brings the bytes of a hit on a pending entry, or null: it brings
/// others.
const gets::RecalledPlace* CachedGets::recalled_place(std::uint32_t index,
                                                      const CacheableGet& wanted,
                                                      const cache::Lookup& hit) const {
  const PendingGet& pending = under_way_[index];
  if (pending.purpose != Purpose::recall || !pending.ahead ||
      pending.rank != static_cast<int>(wanted.key.target))
    return nullptr;
  const std::uint64_t begin = wanted.key.displacement - hit.offset;
  const auto& places = pending.ahead->recalled;
  const auto at = std::lower_bound(
      places.begin(), places.end(), begin,
      [](const gets::RecalledPlace& place, std::uint64_t d) { return place.displacement < d; });
  return at != places.end() && at->entry == hit.entry ? &*at : nullptr;
}

/// Recalled places have arrived.
void CachedGets::finish_recall(PendingGet& pending) {
  --targets_.used(pending.rank).recalls;
  std::unique_ptr<AheadFetch> fetch = std::move(pending.ahead);
  const std::byte* const staging = fetch->staging.get();
  under_way_.serve_waiters(pending, staging);
  for (const gets::RecalledPlace& place : fetch->recalled)
    cache_->fill(place.entry, staging + place.offset, place.bytes, 0, pending.when);
  recalling_->pool.give_back(std::move(fetch));
}

/// A program that waits for requests alone never flushes: what was recalled for it and that it
/// never asked for is taken in here.
void CachedGets::finish_old_recalls(TargetState& t) {
  if (t.recalls == 0) return;
  for (std::size_t i = 0; i < t.pending.size();) {
    const std::uint32_t index = t.pending[i];
    PendingGet& pending = under_way_[index];
    const auto arrived = [&] {
      auto handle = handle_of<MPI_Request>(pending.request);
      int flag = 0;
      return requests::test(&handle, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag;
    };
    if (pending.purpose != Purpose::recall || pending.request == 0 || !arrived()) {
      ++i;
      continue;
    }
    finish(pending);
    under_way_.remove(t.pending, index);
  }
}

/// Bytes changed with no acquire in between, as in end_readahead().
void CachedGets::end_recall() {
  ++stats_.recall_changed;
  recalling_->ended = true;
  note_acquire("bytes that changed");
}

}  // namespace hob::mpi
