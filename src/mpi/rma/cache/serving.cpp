// Gets that are served from the cache, or wait for one that is under way.
#include <array>
#include <cstring>
#include <new>

#include "base/clock.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/datatype/state.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/cache/tracing.hpp"

namespace hob::mpi {

/// Whether the get under way of a hit on pending bytes will bring them. One with a request of the
/// library's may not: the program may free the request.
bool CachedGets::will_bring(const LookedUp& asked) const {
  const auto& [get, t, wanted, hit] = asked;
  if (!under_way_.has(hit.cookie)) return false;
  if (hit.block != 0 &&
      under_way_.brings(hit.cookie, get.target, wanted.key.displacement, wanted.size))
    return true;
  const PendingGet& pending = under_way_[hit.cookie];
  if (pending.purpose == Purpose::recall)
    return recalls_->place_of(hit.cookie, wanted, hit) != nullptr;
  return pending.entry == hit.entry &&
         (pending.purpose == Purpose::fetch ||
          (pending.purpose == Purpose::requested && pending.request != 0));
}

/// A hit on bytes that a get under way will bring. False if the get must be issued.
bool CachedGets::serve_pending(const LookedUp& asked) {
  if (under_way_.waiters_full() || !will_bring(asked)) return false;
  const auto& [get, t, wanted, hit] = asked;
  PendingGet& pending = under_way_[hit.cookie];
  const std::uint64_t offset =
      pending.purpose == Purpose::ahead ? wanted.key.displacement - pending.displacement
      : pending.purpose == Purpose::recall
          ? recalls_->place_of(hit.cookie, wanted, hit)->offset + hit.offset
          : hit.offset;
  try {
    under_way_.wait_for(pending, get.result.address, wanted.origin, wanted.size, offset);
  } catch (const std::bad_alloc&) {
    return false;
  }
  learning_.served(t, in_batch());
  ++t.hits;
  return true;
}

/// The same with a request: the get under way must be one of which Hob can ask whether it has
/// arrived.
bool CachedGets::join(const LookedUp& asked, MadeRequest& made) {
  const std::uint32_t cookie = asked.hit.cookie;
  if (!will_bring(asked) || under_way_[cookie].request == 0 || under_way_.waiters_full())
    return false;
  try {
    under_way_.room_for_waiters(1);
  } catch (const std::bad_alloc&) {
    return false;
  }
  return requested_.make(*made.request, cookie) && serve_pending(asked);
}

/// A get was served at time `now`. Null `hit.data`: a part of its bytes is still under way.
void CachedGets::count_hit(const LookedUp& asked, std::uint64_t now) {
  ++asked.target.hits;
  learning_.served(asked.target, in_batch());
  if (HOB_UNLIKELY(verifier_.on()) && asked.hit.data && verifier_.chosen()) issuer_.verify(asked);
  if (HOB_LIKELY(!progress_.due(now))) return;
  // A process that lives on hits never enters the MPI library, and many libraries let others'
  // operations on it advance only there.
  requests::drive_progress();
  progress_.entered(ticks());
  ++stats_.progress_calls;
}

/// A hit, at the time `now`.
void CachedGets::serve(const LookedUp& asked, std::uint64_t now) {
  const auto& [get, t, wanted, hit] = asked;
  const Layout& origin = *wanted.origin;
  if (HOB_LIKELY(origin.dense))
    std::memcpy(static_cast<std::byte*>(get.result.address) + origin.low, hit.data, wanted.size);
  else
    unpack(origin, get.result.address, hit.data, wanted.size);
  if (hit.fetched < kept_.at()) ++stats_.kept_hits;
  count_hit(asked, now);
  expect_again(asked, now);
}

/// A get was served at time `now`: those like it are, until something else happens.
void CachedGets::expect_again(const LookedUp& asked, std::uint64_t now) {
  const auto& [get, t, wanted, hit] = asked;
  cache::HitTerms terms;
  if (mode() == Mode::automatic) {
    terms = learning_.not_due(kept_.at(), now);
    if (recalls_) terms.oldest_tagged = recalls_->oldest(now);
  }
  terms.kept_at = kept_.at();
  hot_.looked(now, terms);
  if (get.kind != Get::Kind::get || get.result.type != get.target_type || !wanted.origin->dense ||
      mode() == Mode::strict || verifier_.on() || tracing ||
      (ahead_ && ahead_->readahead.recording()))
    return;
  hot_.open({.target = get.target,
             .idle = completions_.is_idle(t),
             .cheap = learning_.cheap(t, in_batch()),
             .type = handle_bits(get.target_type),
             .types = layouts_forgotten.load(std::memory_order_relaxed),
             .bytes = wanted.origin->size,
             .low = wanted.origin->low,
             .unit = units_->of(get.target),
             .state = &t});
}

/// A hit between two blocks, both of which are here or under way: with a `request`, if there is
/// one. False if the get must be issued.
bool CachedGets::serve_split(const LookedUp& asked) {
  const auto& [get, t, wanted, hit] = asked;
  if (!wanted.contiguous_at_origin(get) || under_way_.waiters_full()) return false;
  const std::uint64_t now = ticks();
  if (mode() == Mode::automatic && hit.available == wanted.size &&
      (learning_.due(1, known_at(hit), now) || (hit.first && old_ahead(hit, now))))
    return false;
  const std::array<cache::Fragment, 2> fragments = cache_->fragments(wanted.key, wanted.size);
  std::array<std::uint32_t, 2> awaited{PendingGet::kNone, PendingGet::kNone};
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    const cache::Fragment& fragment = fragments[i];
    if (!fragment.entry) return false;
    if (fragment.data != nullptr) continue;
    if (!under_way_.brings(fragment.cookie, get.target, fragment.displacement, fragment.bytes))
      return false;
    awaited[i] = fragment.cookie;
    if (get.request && under_way_[awaited[i]].request == 0) return false;
  }
  try {
    under_way_.room_for_waiters(fragments.size());
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (get.request && !requested_.make(*get.request, awaited[0], awaited[1])) return false;
  std::byte* to = wanted.first_byte(get);
  for (const cache::Fragment& fragment : fragments) {
    if (fragment.data != nullptr) {
      std::memcpy(to, fragment.data, fragment.bytes);
    } else {
      PendingGet& pending = under_way_[fragment.cookie];
      under_way_.wait_for(pending, to, &layout_of(MPI_BYTE), fragment.bytes,
                          fragment.displacement - pending.displacement);
    }
    to += fragment.bytes;
  }
  cache::Lookup served = hit;
  served.data = hit.available == wanted.size ? wanted.first_byte(get) : nullptr;
  count_hit({get, t, wanted, served}, now);
  return true;
}

/// Whether bytes that were fetched ahead are too old to be asked for the first time.
bool CachedGets::old_ahead(const cache::Lookup& hit, std::uint64_t now) const {
  if (mode() != Mode::automatic) return false;
  if (hit.tag != 0) return recalls_ && recalls_->too_old(known_at(hit), now);
  return ahead_ && ahead_->guard.due(1, known_at(hit), now);
}

}  // namespace hob::mpi
