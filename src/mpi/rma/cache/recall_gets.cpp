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
  if (recalling_) issuer_.know_recall(recalling_->memory);
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

/// A get that is missing: whether places may be recalled beside it.
bool CachedGets::may_recall_beside(const Get& get, TargetState& t, const CacheableGet& wanted) {
  return recalling_->memory.recording() && may_recall(get, wanted) && !t.writing() &&
         !t.profile.too_quick_for_blocks(learning_.profile(), hit_cost().of(wanted.size),
                                         context().one_node);
}

/// After a get was looked up and answered: what the record has to know of it, and what is fetched
/// beside one with a request.
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
  if (!issued || !missing || !requested || !may_recall_beside(get, t, wanted)) return;
  Recalling::Cause cause{get, wanted, true};
  recall_like(cause, t);
}

/// A get that is missing: issues it together with places of its target that are recalled. False:
/// it was not issued, though others may have been.
bool CachedGets::issue_recalling(const Get& get, TargetState& t, const CacheableGet& wanted,
                                 const cache::Lookup& hit) {
  if (!recalling_ || hit.kind != cache::Hit::missing || !may_recall_beside(get, t, wanted))
    return false;
  Recalling::Cause cause{get, wanted, false};
  recall_like(cause, t);
  return cause.carried;
}

/// What things cost at present.
recall::Prices CachedGets::recall_prices() const {
  const Recalling& r = *recalling_;
  const double tick = ticks_per_nanosecond();
  recall::Prices prices{
      .latency = ahead_ ? ahead_->cost.latency() : tuning::gets::kFirstLatencyNs * tick,
      .issue = r.in_burst,
      .batch = 2 * r.issue,
      .per_byte = tuning::gets::kFirstNsPerByte * tick};
  if (in_batch()) {
    prices.issue = 0;
  } else if (r.in_burst == 0) {
    prices.issue = prices.latency;  // as over TCP
    prices.measured = false;
  }
  prices.scattered = r.indexed ? std::max(r.scattered, prices.latency) : prices.latency;
  prices.each = r.indexed ? 0 : r.issue;
  if (r.indexed && !IndexedType::any_made()) prices.first = tuning::gets::kFirstScatteredNs * tick;
  if (!ahead_) return prices;
  prices.far_byte = ahead_->cost.per_byte();
  if (ahead_->readahead.enabled()) prices.longest = recall::Prices::kLongestStretch;
  prices.rate_seen = ahead_->cost.rate_seen();
  return prices;
}

/// An epoch is open at the target of a get that is missing.
void CachedGets::recall_like(Recalling::Cause& cause, TargetState& t) {
  Recalling& r = *recalling_;
  const CacheableGet& wanted = cause.wanted;
  // Of those that go one by one, no request tells that all of them have arrived.
  if (cause.requested && !r.indexed) return;
  const std::uint64_t room =
      std::min(cache_->most_storage_bytes() / 2, tuning::gets::kMostRecalled);
  const bool all = r.reaches_all && !cause.requested;
  recall::Prices prices = recall_prices();
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
      const std::size_t done = issue_recall(rank, its, cause, prices);
      if (done == 0) break;
      its = its.subspan(done);
    }
    places = places.subspan(end);
  }
  r.memory.spent(static_cast<double>(ticks() - start));
}

/// Gives the first of these places, of no more than `most_bytes`, entries that `cookie` will bring.
/// `was_empty`: the cache, before anything was reserved for this fetch. Returns how many were
/// looked at.
std::uint32_t CachedGets::reserve_recalled(AheadFetch& fetch, std::span<const std::uint32_t> places,
                                           const CacheableGet& wanted, std::uint32_t cookie,
                                           std::uint64_t most_bytes, bool was_empty) {
  recall::Recall& memory = recalling_->memory;
  const auto unit = static_cast<std::uint64_t>(
      std::max<std::int64_t>(units_->of(static_cast<int>(memory.place(places[0]).target())), 1));
  const std::size_t most =
      recalling_->indexed ? tuning::gets::kMostRecalledPlaces : tuning::gets::kMostRecalledSingly;
  std::uint64_t bytes = 0;
  std::uint32_t done = 0;
  std::uint64_t before = ~std::uint64_t{0};
  for (const std::uint32_t index : places) {
    const recall::Place& place = memory.place(index);
    std::uint64_t begin = place.displacement();
    if (fetch.recalled.size() == most || bytes + place.bytes() > most_bytes) break;
    ++done;
    const bool has_it = place.contains(wanted.key.target, wanted.key.displacement, wanted.size);
    // The program's get brings its first bytes.
    if (has_it && begin == wanted.key.displacement && place.bytes() > wanted.size)
      begin += wanted.size;
    const cache::Key key{place.target(), begin, 0};
    // In a cache that was empty there are only the entries that were reserved here. Places are in
    // the order of their displacements, but for one that the program's get begins.
    const bool may_be_here = !was_empty || begin == wanted.key.displacement ||
                             begin == wanted.key.displacement + wanted.size ||
                             begin == std::exchange(before, begin);
    if (may_be_here &&
        (cache_->entry_of(key) || cache_->in_blocks(place.target(), begin, place.end() - begin))) {
      memory.present(index);
      continue;
    }
    if (!recalling_->indexed && !fetch.spans && begin % unit != 0) continue;
    const cache::EntryId entry =
        cache_->reserve(key, place.end() - begin, {.cookie = cookie, .tag = memory.tag(index)})
            .entry;
    if (!entry) continue;
    fetch.recalled.push_back({entry, begin, place.end() - begin});
    bytes += place.end() - begin;
    memory.fetched(index);
    ++stats_.recalled;
    stats_.recall_bytes += place.bytes();
  }
  return done;
}

/// The bytes from the first of these places of a target to the last.
cache::Readahead::Range CachedGets::hull_of(std::span<const std::uint32_t> places,
                                            const CacheableGet* own) const {
  const recall::Recall& memory = recalling_->memory;
  cache::Readahead::Range range{memory.place(places[0]).displacement(), 0};
  for (const std::uint32_t index : places)
    range.end = std::max(range.end, memory.place(index).end());
  if (!own) return range;
  return {std::min(range.begin, own->key.displacement),
          std::max(range.end, own->key.displacement + own->size)};
}

/// The first of these places of a target, whose stretch is no longer than that; one at least.
std::span<const std::uint32_t> CachedGets::places_within(std::span<const std::uint32_t> places,
                                                         std::uint64_t most) const {
  const recall::Recall& memory = recalling_->memory;
  const std::uint64_t end = memory.place(places[0]).displacement() + most;
  std::size_t count = 1;
  while (count < places.size() && memory.place(places[count]).end() <= end) ++count;
  return places.first(count);
}

/// Whether these bytes may all be fetched, as a block might be.
bool CachedGets::may_span(int rank, const recall::Place& first,
                          const cache::Readahead::Range& range, std::uint64_t most) const {
  if (!ahead_) return false;
  const ExposedSizes& exposed = *ahead_->exposed;
  const cache::Readahead::Range readable =
      exposed.around(rank, first.displacement(), first.bytes(),
                     static_cast<std::uint64_t>(std::max<std::int64_t>(units_->of(rank), 1)));
  return range.end - range.begin <= std::min(most, options_.readahead.longest_fetch) &&
         range.end <= exposed.of(rank) && readable.begin <= range.begin &&
         range.end <= readable.end;
}

namespace {

/// What the program asked for, among the places that are fetched with it, by displacement.
void insert_own(AheadFetch& fetch, const gets::RecalledPlace& own) {
  const auto after =
      std::find_if(fetch.recalled.begin(), fetch.recalled.end(),
                   [&](const auto& place) { return place.displacement > own.displacement; });
  fetch.recalled.insert(after, own);
}

}  // namespace

/// Fetches the first of these places of a target, as many as go at once, with what the program
/// asked for where it is of this target and was not issued yet. Returns how many these are; 0: no
/// more.
std::size_t CachedGets::issue_recall(int rank, std::span<const std::uint32_t> places,
                                     Recalling::Cause& cause, const recall::Prices& prices) {
  Recalling& r = *recalling_;
  TargetState& t = target(rank);
  if (rank == window_.rank || t.profile.bypassed() || t.writing() || tracking_off_for_good() ||
      waits_for_lock(rank) || under_way_.full() || units_->of(rank) <= 0)
    return 0;
  const auto unit = static_cast<std::uint64_t>(units_->of(rank));
  const CacheableGet& wanted = cause.wanted;
  bool carries =
      !cause.requested && !cause.carried && rank == cause.get.target && !under_way_.waiters_full();
  std::uint64_t bytes = carries ? wanted.size : 0;
  for (const std::uint32_t index : places) bytes += r.memory.place(index).bytes();
  const std::uint64_t most = std::min(context().longest_get, tuning::batching::kMostBytes);
  if (carries && wanted.size > most) return 0;
  if (const cache::Readahead::Range all = hull_of(places, carries ? &wanted : nullptr);
      all.end - all.begin > most &&
      prices.span_is_cheaper(places.size(), bytes, all.end - all.begin)) {
    // In several pieces. What the program asked for goes with the first one, or by itself.
    places = places_within(places, most - unit);
    const cache::Readahead::Range with = hull_of(places, &wanted);
    carries = carries && with.end - with.begin <= most - unit;
    bytes = carries ? wanted.size : 0;
    for (const std::uint32_t index : places) bytes += r.memory.place(index).bytes();
  }
  // The way that this goes does not pass where locks are held back.
  if (carries && backend_.may_hold_back() && backend_.holds_back(rank) &&
      backend_.let_in(rank) != MPI_SUCCESS)
    return 0;
  cache::Readahead::Range range = hull_of(places, carries ? &wanted : nullptr);
  range.begin -= range.begin % unit;
  const bool spans = prices.span_is_cheaper(places.size(), bytes, range.end - range.begin) &&
                     may_span(rank, r.memory.place(places[0]), range, most);
  // What the program asked for may lie in a place, and is counted twice then.
  std::unique_ptr<AheadFetch> fetch =
      r.pool.take(std::max(spans ? range.end - range.begin : 0, std::min(bytes, most)));
  if (!fetch) return 0;
  fetch->spans = spans;
  std::uint32_t index = PendingGet::kNone;
  std::size_t done = 0;
  cache::EntryId own{};
  const bool was_empty = cache_->entries() == 0;
  try {
    index = under_way_.add(t.pending, rank, {.purpose = Purpose::recall});
    fetch->recalled.reserve(1 + std::min(places.size(), tuning::gets::kMostRecalledPlaces));
    if (carries) {
      under_way_.room_for_waiters(1);
      own = cache_->reserve(wanted.key, wanted.size, {.cookie = index}).entry;
    }
    done =
        reserve_recalled(*fetch, places, wanted, index,
                         std::min(fetch->capacity, most) - (carries ? wanted.size : 0), was_empty);
  } catch (const std::bad_alloc&) {
    done = 0;
  }
  if (done == 0 || fetch->recalled.empty()) {
    drop_recalled(*fetch, own);
    r.pool.give_back(std::move(fetch));
    if (index != PendingGet::kNone) under_way_.remove(t.pending, index);
    return done;
  }
  if (carries) insert_own(*fetch, {own, wanted.key.displacement, wanted.size});
  gets::lay_out(*fetch, range.begin);
  PendingGet& pending = under_way_[index];
  pending.epoch = coherence_.epochs.now();
  const std::uint64_t first = fetch->recalled.front().displacement;
  fetches(rank, t, first, range.end - first);
  if (carries) {
    const auto at = std::find_if(
        fetch->recalled.begin(), fetch->recalled.end(),
        [&](const gets::RecalledPlace& p) { return p.displacement == wanted.key.displacement; });
    under_way_.wait_for(pending, cause.get.result.address, wanted.origin, wanted.size, at->offset);
  }
  if (!send_recall(t, pending, std::move(fetch), range, cause)) return 0;
  if (carries) count_carried(cause, t);
  return done;
}

/// Gives a fetch to the library, whose bytes `pending` waits for. False: it refused.
bool CachedGets::send_recall(TargetState& t, PendingGet& pending, std::unique_ptr<AheadFetch> fetch,
                             const cache::Readahead::Range& range, const Recalling::Cause& cause) {
  const std::uint64_t start = ticks();
  const int rank = pending.rank;
  MPI_Request request = MPI_REQUEST_NULL;
  const bool requested = cause.requested && rank == cause.get.target;
  ++t.gets;
  ++stats_.native_gets;
  int result = MPI_SUCCESS;
  try {
    result = issue_places(rank, *fetch, range, requested ? &request : nullptr);
  } catch (const std::bad_alloc&) {
    result = MPI_ERR_NO_MEM;
  }
  pending.bytes = 0;
  for (const gets::RecalledPlace& place : fetch->recalled) pending.bytes += place.bytes;
  if (fetch->spans) pending.bytes = range.end - range.begin;
  if (result != MPI_SUCCESS) {
    // Some of it may be under way: its memory stays until no process writes there any more.
    under_way_.forget_waiters(pending);
    drop_recalled(*fetch, {});
    recalling_->ended = true;
  }
  if (HOB_UNLIKELY(log::on(log::Level::trace)))
    log::line(log::Level::trace, "window {}: recalls {} places of rank {}, {} bytes{}", window_.id,
              fetch->recalled.size(), rank, pending.bytes, fetch->spans ? " in one piece" : "");
  pending.when = ticks();
  pending.issue_ticks = pending.when - start;
  if (requested) pending.request = handle_bits(request);
  pending.ahead = std::move(fetch);
  ++t.recalls;
  return result == MPI_SUCCESS;
}

/// The entries of a fetch that will not bring them, and of the program's own get.
void CachedGets::drop_recalled(AheadFetch& fetch, cache::EntryId own) {
  if (own) cache_->drop(own);
  for (const gets::RecalledPlace& place : fetch.recalled)
    if (place.entry != own) cache_->drop(place.entry);
  fetch.recalled.clear();
}

/// The program's get went with places that are recalled.
void CachedGets::count_carried(Recalling::Cause& cause, TargetState& t) {
  const std::uint64_t bytes = cause.wanted.size;
  cause.carried = true;
  t.profile.count_get(learning_.profile());
  learning_.missed(t, bytes, in_batch());
  if (ahead_) ahead_->trip(bytes, bytes, cache_->stats().gets);
}

/// As one get of all bytes between, as one with an indexed datatype, or one for each place.
int CachedGets::issue_places(int rank, const AheadFetch& fetch,
                             const cache::Readahead::Range& range, MPI_Request* request) {
  Recalling& r = *recalling_;
  const auto unit = static_cast<std::uint64_t>(units_->of(rank));
  const auto get = [&](std::uint64_t offset, std::uint64_t begin, std::uint64_t bytes) {
    const auto count = static_cast<MPI_Count>(bytes);
    return r.carrier.issue(Get::get(fetch.staging.get() + offset, count, MPI_BYTE, rank,
                                    static_cast<MPI_Aint>(begin / unit), count, MPI_BYTE, request));
  };
  if (fetch.spans) return get(0, range.begin, range.end - range.begin);
  if (!r.indexed) {
    for (const gets::RecalledPlace& place : fetch.recalled)
      if (const int error = get(place.offset, place.displacement, place.bytes)) return error;
    return MPI_SUCCESS;
  }
  r.buffer.clear();
  for (const gets::RecalledPlace& place : fetch.recalled)
    r.buffer.add(place.displacement, static_cast<std::uint32_t>(place.bytes), nullptr);
  const std::uint64_t disp = fetch.recalled.front().displacement / unit;
  const Unit element = widest_unit(r.buffer);
  const IndexedType there(r.buffer, disp * unit, element.type, element.bytes);
  if (!there.good()) return MPI_ERR_INTERN;
  return r.carrier.issue(
      Get::get(fetch.staging.get(), static_cast<MPI_Count>(r.buffer.bytes() / element.bytes),
               element.type, rank, static_cast<MPI_Aint>(disp), 1, there.get(), request));
}

/// A wait for the gets of a target, and for nothing else, has taken so long.
void CachedGets::learn_prices(const TargetState& t, std::uint64_t waited) {
  constexpr pay::Weights kFollows{.down = 1.0 / 4, .up = 1.0 / 16};
  const std::size_t gets = t.pending.size();
  if (gets > 1 && t.recalls == 0 && !in_batch()) {
    double& price = recalling_->in_burst;
    double spent = static_cast<double>(waited);
    for (const std::uint32_t index : t.pending)
      spent += std::max(static_cast<double>(under_way_[index].issue_ticks), recalling_->issue);
    const double each = spent / static_cast<double>(gets);
    price = price == 0 ? each : pay::towards(price, each, kFollows);
  }
  if (t.recalls != 1 || gets != 1) return;
  const PendingGet& pending = under_way_[t.pending[0]];
  if (!pending.ahead || pending.request != 0) return;
  const std::uint64_t spent = pending.issue_ticks + waited;
  if (pending.ahead->spans) return ahead_->cost.add(pending.bytes, spent);
  const double for_bytes = static_cast<double>(pending.bytes) * recall_prices().far_byte;
  Recalling& r = *recalling_;
  r.scattered = pay::towards(
      r.scattered, std::max(static_cast<double>(spent) - for_bytes, r.scattered / 4), kFollows);
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
  const std::uint64_t start = ticks();
  std::unique_ptr<AheadFetch> fetch = std::move(pending.ahead);
  const std::byte* const staging = fetch->staging.get();
  under_way_.serve_waiters(pending, staging);
  for (const gets::RecalledPlace& place : fetch->recalled)
    if (place.entry)
      cache_->fill(place.entry, staging + place.offset, place.bytes, 0, pending.when);
  recalling_->pool.give_back(std::move(fetch));
  waited_in_phase(ticks() - start);
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
