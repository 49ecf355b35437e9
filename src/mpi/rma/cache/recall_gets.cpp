#include "mpi/rma/cache/recall_gets.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/requests/completion.hpp"
#include "mpi/rma/batch/indexed.hpp"
#include "mpi/rma/cache/hit_cost.hpp"

namespace hob::mpi {

/// A get that is missing, because of which places are recalled.
struct RecallGets::Cause {
  const LookedUp& asked;
  bool requested;        ///< with a request; it was issued before
  bool carried = false;  ///< it was issued, with places of its target
};

/// Places of a target that are fetched at once.
struct RecallGets::Piece {
  int rank;
  TargetState& target;
  Places places;
  const CacheableGet* own;  ///< what the program asked for goes with them; null: it does not
  std::uint64_t most;       ///< bytes of one get
  std::uint64_t bytes;      ///< of the places and of `own`; those of both count twice
  Range range;              ///< of all of them, from a multiple of the target's unit on
  bool spans;               ///< what lies between them is fetched, too

  bool reserves_later() const { return bytes <= tuning::gets::kShortPlace * places.size(); }
};

/// What was prepared for such a piece.
struct RecallGets::TakenUp {
  std::uint32_t index = PendingGet::kNone;  ///< of the get under way
  cache::EntryId own{};                     ///< of what the program asked for
  std::size_t places = 0;                   ///< looked at
};

/// Whether a get may be one of a phase: see docs/consistency.md for each condition.
bool RecallGets::may_recall(const CacheableGet& wanted, const Get& get) const {
  return records() && wanted.contiguous && !get.is_atomic();
}

/// A get that is missing: whether places may be recalled beside it.
bool RecallGets::may_recall_beside(const LookedUp& asked) const {
  const auto& [get, t, wanted, hit] = asked;
  return may_recall(wanted, get) && !t.writing() &&
         !t.profile.too_quick_for_blocks(parts_.learning.profile(), hit_cost().of(wanted.size),
                                         context().one_node);
}

void RecallGets::drop_if_short(const TargetState& t, cache::Lookup& hit) {
  if (hit.kind != cache::Hit::partial || hit.contained || t.writing()) return;
  parts_.cache.drop(hit.entry);
  hit = {};
}

void RecallGets::looked_up(const LookedUp& asked, bool issued, bool requested) {
  const auto& [get, t, wanted, hit] = asked;
  if (HOB_UNLIKELY(hit.tag != 0)) return used(hit.tag);
  const bool missing = hit.kind == cache::Hit::missing;
  const bool partly = hit.kind == cache::Hit::partial || hit.kind == cache::Hit::pending_partial;
  if (!missing && !partly && (hit.block == 0 || hit.consecutive > 1)) return;
  if (!may_recall(wanted, get)) return;
  if (!missing && !partly && !memory_.recording_fetched_ahead()) return;
  memory_.missed(wanted.key.target, wanted.key.displacement, wanted.size);
  if (!issued || !missing || !requested || !may_recall_beside(asked)) return;
  Cause cause{asked, true};
  recall_like(cause);
}

bool RecallGets::issue(const LookedUp& asked) {
  if (asked.hit.kind != cache::Hit::missing || !may_recall_beside(asked)) return false;
  Cause cause{asked, false};
  recall_like(cause);
  return cause.carried;
}

/// What things cost at present.
recall::Prices RecallGets::prices() const {
  const double tick = ticks_per_nanosecond();
  const Ahead* const ahead = parts_.ahead;
  recall::Prices prices{
      .latency = ahead ? ahead->cost.latency() : tuning::gets::kFirstLatencyNs * tick,
      .issue = in_burst_,
      .batch = 2 * issue_ticks_,
      .per_byte = tuning::gets::kFirstNsPerByte * tick,
      .at_once = static_cast<std::uint32_t>(std::clamp(
          static_cast<double>(config_.age.age) / (2 * tuning::gets::kLeastRecalledNs * tick), 64.0,
          1e9))};
  if (parts_.issuer.in_batch()) {
    prices.issue = 0;
  } else if (in_burst_ == 0) {
    prices.issue = prices.latency;  // as over TCP
    prices.measured = false;
  }
  prices.scattered = config_.indexed ? std::max(scattered_, prices.latency) : prices.latency;
  prices.each = config_.indexed ? 0 : issue_ticks_;
  if (config_.indexed && !IndexedType::any_made())
    prices.first = tuning::gets::kFirstScatteredNs * tick;
  if (!ahead) return prices;
  prices.far_byte = ahead->cost.per_byte();
  if (ahead->readahead.enabled()) prices.longest = recall::Prices::kLongestStretch;
  prices.rate_seen = ahead->cost.rate_seen();
  return prices;
}

/// An epoch is open at the target of a get that is missing.
void RecallGets::recall_like(Cause& cause) {
  const CacheableGet& wanted = cause.asked.wanted;
  // Of those that go one by one, no request tells that all of them have arrived.
  if (cause.requested && !config_.indexed) return;
  const std::uint64_t room =
      std::min(parts_.cache.most_storage_bytes() / 2, tuning::gets::kMostRecalled);
  const bool all = reaches_all_ && !cause.requested;
  recall::Prices now = prices();
  Places places =
      memory_.choose(wanted.key.target, wanted.key.displacement, wanted.size, all, room, now);
  if (places.empty()) return;
  const std::uint64_t start = ticks(), before = parts_.stats.recalled;
  finish_old(cause.asked.target);
  while (!places.empty()) {
    const std::uint32_t target = memory_.place(places[0]).target();
    std::size_t end = 1;
    while (end < places.size() && memory_.place(places[end]).target() == target) ++end;
    for (Places its = places.first(end); !its.empty();) {
      const std::size_t done = issue_piece(static_cast<int>(target), its, cause, now);
      if (done == 0) break;
      its = its.subspan(done);
    }
    places = places.subspan(end);
  }
  if (parts_.stats.recalled == before) memory_.chosen_in_vain();
  spent(ticks() - start);
}

/// Of a target that may have none.
std::uint64_t RecallGets::unit_of(int rank) const {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(parts_.units.of(rank), 1));
}

std::uint64_t RecallGets::bytes_of(Places places, const CacheableGet* own) const {
  std::uint64_t bytes = own ? own->size : 0;
  for (const std::uint32_t index : places) bytes += memory_.place(index).bytes();
  return bytes;
}

/// The bytes from the first of these places of a target to the last.
RecallGets::Range RecallGets::hull_of(Places places, const CacheableGet* own) const {
  Range range{memory_.place(places[0]).displacement(), 0};
  for (const std::uint32_t index : places)
    range.end = std::max(range.end, memory_.place(index).end());
  if (!own) return range;
  return {std::min(range.begin, own->key.displacement),
          std::max(range.end, own->key.displacement + own->size)};
}

/// The first of these places of a target, whose stretch is no longer than that; one at least.
RecallGets::Places RecallGets::places_within(Places places, std::uint64_t most) const {
  const std::uint64_t end = memory_.place(places[0]).displacement() + most;
  std::size_t count = 1;
  while (count < places.size() && memory_.place(places[count]).end() <= end) ++count;
  return places.first(count);
}

/// Whether these bytes may all be fetched, as a block might be.
bool RecallGets::may_span(int rank, const recall::Place& first, const Range& range,
                          std::uint64_t most) const {
  if (!parts_.ahead) return false;
  const ExposedSizes& exposed = *parts_.ahead->exposed;
  const Range readable = exposed.around(rank, first.displacement(), first.bytes(), unit_of(rank));
  return range.end - range.begin <= std::min(most, config_.longest_fetch) &&
         range.end <= exposed.of(rank) && readable.begin <= range.begin &&
         range.end <= readable.end;
}

/// The first of these places of a target, as many as go at once, with what the program asked for
/// where it is of this target and was not issued yet. None: they may not be fetched.
std::optional<RecallGets::Piece> RecallGets::piece_of(int rank, Places places, const Cause& cause,
                                                      const recall::Prices& prices) const {
  TargetState& t = parts_.owner.target_of(rank);
  if (rank == config_.rank || t.profile.bypassed() || t.writing() ||
      parts_.tracking.is_off_for_good() || parts_.backend.holds_back_from_threads(rank) ||
      parts_.under_way.full() || parts_.units.of(rank) <= 0)
    return std::nullopt;
  const std::uint64_t unit = unit_of(rank);
  const CacheableGet& wanted = cause.asked.wanted;
  // A get of bytes begins at a multiple of the target's unit, which a datatype need not.
  const bool may_go_singly = config_.indexed || wanted.key.displacement % unit == 0;
  const bool carries = !cause.requested && !cause.carried && rank == cause.asked.get.target &&
                       may_go_singly && !parts_.under_way.waiters_full();
  const CacheableGet* own = carries ? &wanted : nullptr;
  const std::uint64_t most = std::min(context().longest_get, tuning::batching::kMostBytes);
  if (own && wanted.size > most) return std::nullopt;
  std::uint64_t bytes = bytes_of(places, own);
  if (const Range all = hull_of(places, own);
      all.end - all.begin > most &&
      prices.span_is_cheaper(places.size(), bytes, all.end - all.begin)) {
    // In several pieces. What the program asked for goes with the first one, or by itself.
    places = places_within(places, most - unit);
    const Range with = hull_of(places, &wanted);
    if (with.end - with.begin > most - unit) own = nullptr;
    bytes = bytes_of(places, own);
  }
  Range range = hull_of(places, own);
  range.begin -= range.begin % unit;
  const bool spans = prices.span_is_cheaper(places.size(), bytes, range.end - range.begin) &&
                     may_span(rank, memory_.place(places[0]), range, most);
  if (!spans && !prices.scatters) return std::nullopt;
  return Piece{rank, t, places, own, most, bytes, range, spans};
}

namespace {

/// What the program asked for, among the places that are fetched with it, by displacement.
void insert_own(AheadFetch& fetch, const gets::RecalledPlace& own) {
  const auto after =
      std::find_if(fetch.recalled.begin(), fetch.recalled.end(),
                   [&](const auto& place) { return place.displacement > own.displacement; });
  fetch.recalled.insert(after, own);
}

/// Where it arrives.
std::uint64_t offset_of(const AheadFetch& fetch, std::uint64_t displacement) {
  return std::find_if(fetch.recalled.begin(), fetch.recalled.end(),
                      [&](const auto& place) { return place.displacement == displacement; })
      ->offset;
}

}  // namespace

/// Takes up the first places of a piece that are not here. `was_empty`: the cache, before anything
/// was reserved for this fetch. Returns how many were looked at.
std::uint32_t RecallGets::select(AheadFetch& fetch, const Piece& piece, const CacheableGet& wanted,
                                 bool was_empty) {
  cache::Cache& cache = parts_.cache;
  const std::uint64_t unit = unit_of(piece.rank);
  const std::size_t most_places =
      config_.indexed ? tuning::gets::kMostRecalledPlaces : tuning::gets::kMostRecalledSingly;
  // What the program asked for may lie in a place, and is counted twice then.
  const std::uint64_t most_bytes =
      std::min(fetch.capacity, piece.most) - (piece.own ? wanted.size : 0);
  std::uint64_t bytes = 0;
  std::uint32_t done = 0;
  std::uint64_t before = ~std::uint64_t{0};
  for (const std::uint32_t index : piece.places) {
    const recall::Place& place = memory_.place(index);
    std::uint64_t begin = place.displacement();
    if (fetch.recalled.size() == most_places || bytes + place.bytes() > most_bytes) break;
    ++done;
    const bool has_it = place.contains(wanted.key.target, wanted.key.displacement, wanted.size);
    // The program's get brings its first bytes.
    if (has_it && begin == wanted.key.displacement && place.bytes() > wanted.size)
      begin += wanted.size;
    const cache::Key key{place.target(), begin, 0};
    // In a cache that was empty there is only what the program asked for.
    const bool may_be_here = !was_empty || begin == wanted.key.displacement;
    if (begin == before ||
        (may_be_here &&
         (cache.entry_of(key) || cache.in_blocks(place.target(), begin, place.end() - begin)))) {
      memory_.present(index);
      continue;
    }
    if (!config_.indexed && !fetch.spans && begin % unit != 0) continue;
    before = begin;
    fetch.recalled.push_back(
        {.entry = {}, .displacement = begin, .bytes = place.end() - begin, .index = index});
    bytes += place.end() - begin;
  }
  return done;
}

/// Gives the places of a fetch from rank `rank` entries that `cookie` will bring, where there is
/// room.
void RecallGets::reserve(AheadFetch& fetch, int rank, std::uint32_t cookie) {
  for (gets::RecalledPlace& place : fetch.recalled) {
    if (place.index == gets::RecalledPlace::kNone) continue;
    const cache::Key key{static_cast<std::uint32_t>(rank), place.displacement, 0};
    place.entry =
        parts_.cache.reserve(key, place.bytes, {.cookie = cookie, .tag = memory_.tag(place.index)})
            .entry;
    if (!place.entry) continue;
    memory_.fetched(place.index);
    ++parts_.stats.recalled;
    parts_.stats.recall_bytes += memory_.place(place.index).bytes();
  }
}

/// Takes up a piece as a get under way. What it brings gets its places in the cache here or, where
/// that takes longer than its bytes do, while these are under way.
RecallGets::TakenUp RecallGets::take_up(const Piece& piece, const CacheableGet& wanted,
                                        AheadFetch& fetch) {
  GetsUnderWay& under_way = parts_.under_way;
  TakenUp taken;
  const bool was_empty = parts_.cache.entries() == 0;
  try {
    taken.index =
        under_way.add(piece.target.pending, piece.rank, {.purpose = PendingGet::Purpose::recall});
    fetch.recalled.reserve(1 + std::min(piece.places.size(), tuning::gets::kMostRecalledPlaces));
    if (piece.own) {
      under_way.room_for_waiters(1);
      taken.own = parts_.cache.reserve(wanted.key, wanted.size, {.cookie = taken.index}).entry;
    }
    taken.places = select(fetch, piece, wanted, was_empty);
    if (!piece.reserves_later()) {
      reserve(fetch, piece.rank, taken.index);
      std::erase_if(fetch.recalled, [](const auto& place) { return !place.entry; });
    }
  } catch (const std::bad_alloc&) {
    taken.places = 0;
  }
  return taken;
}

/// Fetches the first of these places of a target. Returns how many these are; 0: no more.
std::size_t RecallGets::issue_piece(int rank, Places places, Cause& cause,
                                    const recall::Prices& prices) {
  const auto& [get, target, wanted, hit] = cause.asked;
  const std::optional<Piece> piece = piece_of(rank, places, cause, prices);
  if (!piece) return 0;
  // The way that this goes does not pass where locks are held back.
  if (piece->own && parts_.backend.may_hold_back() && parts_.backend.holds_back(rank) &&
      parts_.backend.let_in(rank) != MPI_SUCCESS)
    return 0;
  TargetState& t = piece->target;
  const std::uint64_t length = piece->range.end - piece->range.begin;
  std::unique_ptr<AheadFetch> fetch =
      pool().take(std::max(piece->spans ? length : 0, std::min(piece->bytes, piece->most)));
  if (!fetch) return 0;
  fetch->spans = piece->spans;
  const TakenUp taken = take_up(*piece, wanted, *fetch);
  if (taken.places == 0 || fetch->recalled.empty()) {
    drop(*fetch, taken.own);
    pool().give_back(std::move(fetch));
    if (taken.index != PendingGet::kNone) parts_.under_way.remove(t.pending, taken.index);
    return taken.places;
  }
  if (piece->own)
    insert_own(*fetch,
               {.entry = taken.own, .displacement = wanted.key.displacement, .bytes = wanted.size});
  gets::lay_out(*fetch, piece->range.begin);
  PendingGet& pending = parts_.under_way[taken.index];
  pending.epoch = parts_.coherence.epochs.now();
  const std::uint64_t first = fetch->recalled.front().displacement;
  parts_.kept.fetches(rank, t, first, piece->range.end - first);
  if (piece->own)
    parts_.under_way.wait_for(pending, get.result.address, wanted.origin, wanted.size,
                              offset_of(*fetch, wanted.key.displacement));
  if (!send(*piece, pending, std::move(fetch), cause.requested && rank == get.target)) return 0;
  if (piece->reserves_later()) reserve(*pending.ahead, rank, taken.index);
  if (piece->own) {
    cause.carried = true;
    t.profile.count_get(parts_.learning.profile());
    parts_.issuer.missed(t, wanted.size, wanted.size);
  }
  return taken.places;
}

/// Gives a fetch to the library, whose bytes `pending` waits for. False: it refused.
bool RecallGets::send(const Piece& piece, PendingGet& pending, std::unique_ptr<AheadFetch> fetch,
                      bool requested) {
  const std::uint64_t start = ticks();
  MPI_Request request = MPI_REQUEST_NULL;
  TargetState& t = piece.target;
  ++t.gets;
  ++parts_.stats.native_gets;
  int result = MPI_SUCCESS;
  try {
    result = issue_places(piece.rank, *fetch, piece.range, requested ? &request : nullptr);
  } catch (const std::bad_alloc&) {
    result = MPI_ERR_NO_MEM;
  }
  pending.bytes = 0;
  for (const gets::RecalledPlace& place : fetch->recalled) pending.bytes += place.bytes;
  if (fetch->spans) pending.bytes = piece.range.end - piece.range.begin;
  if (result == MPI_SUCCESS) {
    parts_.carrier.send_collected(piece.rank);
  } else {
    // Some of it may be under way: its memory stays until no process writes there any more.
    parts_.under_way.forget_waiters(pending);
    drop(*fetch, {});
    ended_ = true;
  }
  if (HOB_UNLIKELY(log::on(log::Level::trace)))
    log::line(log::Level::trace, "window {}: recalls {} places of rank {}, {} bytes{}",
              config_.window, fetch->recalled.size(), piece.rank, pending.bytes,
              fetch->spans ? " in one piece" : "");
  pending.when = ticks();
  pending.issue_ticks = pending.when - start;
  if (requested) pending.request = handle_bits(request);
  pending.ahead = std::move(fetch);
  ++t.recalls;
  return result == MPI_SUCCESS;
}

/// The entries of a fetch that will not bring them, and of the program's own get.
void RecallGets::drop(AheadFetch& fetch, cache::EntryId own) {
  if (own) parts_.cache.drop(own);
  for (const gets::RecalledPlace& place : fetch.recalled)
    if (place.entry != own) parts_.cache.drop(place.entry);
  fetch.recalled.clear();
}

/// As one get of all bytes between, as one with an indexed datatype, or one for each place.
int RecallGets::issue_places(int rank, const AheadFetch& fetch, const Range& range,
                             MPI_Request* request) {
  const auto unit = static_cast<std::uint64_t>(parts_.units.of(rank));
  const auto get = [&](std::uint64_t offset, std::uint64_t begin, std::uint64_t bytes) {
    const auto count = static_cast<MPI_Count>(bytes);
    return parts_.carrier.issue(Get::get(fetch.staging.get() + offset, count, MPI_BYTE, rank,
                                         static_cast<MPI_Aint>(begin / unit), count, MPI_BYTE,
                                         request));
  };
  if (fetch.spans) return get(0, range.begin, range.end - range.begin);
  if (!config_.indexed) {
    for (const gets::RecalledPlace& place : fetch.recalled)
      if (const int error = get(place.offset, place.displacement, place.bytes)) return error;
    return MPI_SUCCESS;
  }
  buffer_.clear();
  for (const gets::RecalledPlace& place : fetch.recalled)
    buffer_.add(place.displacement, static_cast<std::uint32_t>(place.bytes), nullptr);
  const std::uint64_t disp = fetch.recalled.front().displacement / unit;
  const Unit element = widest_unit(buffer_);
  const IndexedType there(buffer_, disp * unit, element.type, element.bytes);
  if (!there.good()) return MPI_ERR_INTERN;
  return parts_.carrier.issue(
      Get::get(fetch.staging.get(), static_cast<MPI_Count>(buffer_.bytes() / element.bytes),
               element.type, rank, static_cast<MPI_Aint>(disp), 1, there.get(), request));
}

void RecallGets::learn_prices(const TargetState& t, std::uint64_t waited) {
  constexpr pay::Weights kFollows{.down = 1.0 / 4, .up = 1.0 / 16};
  const std::size_t gets = t.pending.size();
  if (gets > 1 && t.recalls == 0 && !parts_.issuer.in_batch()) {
    double whole = static_cast<double>(waited);
    for (const std::uint32_t index : t.pending)
      whole += std::max(static_cast<double>(parts_.under_way[index].issue_ticks), issue_ticks_);
    const double each = whole / static_cast<double>(gets);
    in_burst_ = in_burst_ == 0 ? each : pay::towards(in_burst_, each, kFollows);
  }
  if (t.recalls != 1 || gets != 1) return;
  const PendingGet& pending = parts_.under_way[t.pending[0]];
  if (!pending.ahead || pending.request != 0) return;
  const std::uint64_t whole = pending.issue_ticks + waited;
  if (pending.ahead->spans) return parts_.ahead->cost.add(pending.bytes, whole);
  const double for_bytes = static_cast<double>(pending.bytes) * prices().far_byte;
  scattered_ = pay::towards(
      scattered_, std::max(static_cast<double>(whole) - for_bytes, scattered_ / 4), kFollows);
}

const gets::RecalledPlace* RecallGets::place_of(std::uint32_t index, const CacheableGet& wanted,
                                                const cache::Lookup& hit) const {
  const PendingGet& pending = parts_.under_way[index];
  if (pending.purpose != PendingGet::Purpose::recall || !pending.ahead ||
      pending.rank != static_cast<int>(wanted.key.target))
    return nullptr;
  const std::uint64_t begin = wanted.key.displacement - hit.offset;
  const auto& places = pending.ahead->recalled;
  const auto at = std::lower_bound(
      places.begin(), places.end(), begin,
      [](const gets::RecalledPlace& place, std::uint64_t d) { return place.displacement < d; });
  return at != places.end() && at->entry == hit.entry ? &*at : nullptr;
}

void RecallGets::finish(PendingGet& pending) {
  --parts_.owner.target_of(pending.rank).recalls;
  const std::uint64_t start = ticks();
  std::unique_ptr<AheadFetch> fetch = std::move(pending.ahead);
  const std::byte* const staging = fetch->staging.get();
  parts_.under_way.serve_waiters(pending, staging);
  for (const gets::RecalledPlace& place : fetch->recalled)
    if (place.entry)
      parts_.cache.fill(place.entry, staging + place.offset, place.bytes, 0, pending.when);
  pool().give_back(std::move(fetch));
  spent(ticks() - start);
}

/// A program that waits for requests alone never flushes: what was recalled for it and that it
/// never asked for is taken in here.
void RecallGets::finish_old(TargetState& t) {
  if (t.recalls == 0) return;
  for (std::size_t i = 0; i < t.pending.size();) {
    const std::uint32_t index = t.pending[i];
    PendingGet& pending = parts_.under_way[index];
    const auto arrived = [&] {
      auto handle = handle_of<MPI_Request>(pending.request);
      int flag = 0;
      return requests::test(&handle, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag;
    };
    if (pending.purpose != PendingGet::Purpose::recall || pending.request == 0 || !arrived()) {
      ++i;
      continue;
    }
    finish(pending);
    parts_.under_way.remove(t.pending, index);
  }
}

/// As in BlockGets::end().
void RecallGets::end() {
  ++parts_.stats.recall_changed;
  ended_ = true;
  note_acquire("bytes that changed");
}

}  // namespace hob::mpi
