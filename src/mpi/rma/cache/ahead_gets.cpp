// Gets of blocks: how they are issued, and what happens when they arrive.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "cache/block.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/cache/ahead.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/cache/hit_cost.hpp"
#include "mpi/rma/cache/recalling.hpp"

namespace hob::mpi {

void Ahead::trip(std::uint64_t bytes, std::uint64_t asked, std::uint64_t get) noexcept {
  constexpr std::size_t kMostChanges = 256;
  readahead.on_trip(bytes, asked);
  const std::uint64_t before = std::exchange(block, readahead.block_bytes());
  if (HOB_LIKELY(block == before) || changes.size() == kMostChanges) return;
  try {
    changes.push_back({get, before, block});
  } catch (const std::bad_alloc&) {
    // One line of the report fewer.
  }
}

/// Whether more than this get may be fetched: see docs/consistency.md for each condition.
bool CachedGets::may_fetch_ahead(const Get& get, const TargetState& t,
                                 const CacheableGet& wanted) const {
  return ahead_ && ahead_->readahead.enabled() && wanted.contiguous && !get.is_atomic() &&
         mode() != Mode::strict && mode() != Mode::off && !t.writing();
}

/// A get that is missing: issues one of the blocks around it, if that is allowed and worthwhile.
/// `aged`: what there was is too old. False if nothing was issued.
bool CachedGets::issue_ahead(const Get& get, TargetState& t, const CacheableGet& wanted,
                             bool aged) {
  if (!may_fetch_ahead(get, t, wanted)) return false;
  if (recalling_)
    ahead_->beside_recalled(recalling_->memory.reads_recalled(), cache_->stats().ahead_hits);
  // What a block brings is found by a hit for each get, which costs about as much.
  if (in_batch() &&
      batches_->ticks_each.get() <
          static_cast<double>(learning_.profile().worthwhile * hit_cost().of(wanted.size)))
    return false;
  ahead_->price(in_batch() ? batches_->ticks_each.get() : 0);
  ahead_->readahead.on_hits(cache_->stats().ahead_hits);
  const ExposedSizes& exposed = *ahead_->exposed;
  const auto unit = static_cast<std::uint64_t>(std::max<std::int64_t>(units_->of(get.target), 1));
  const cache::Readahead::Plan plan = ahead_->readahead.on_miss(
      wanted.key.target, wanted.key.displacement, wanted.size, exposed.of(get.target),
      exposed.around(get.target, wanted.key.displacement, wanted.size, unit),
      cache_->storage_bytes(), cache_->most_storage_bytes());
  if (!plan) return false;
  // Blocks would take away the samples that the verdict needs.
  if (t.profile.too_quick_for_blocks(learning_.profile(), hit_cost().of(wanted.size),
                                     context().one_node))
    return false;
  std::unique_ptr<AheadFetch> fetch =
      ahead_->pool.take(plan.end - plan.begin + tuning::gets::kLargestUnit);
  if (!fetch) return false;
  fetch->aged = aged;
  return issue_blocks(get, t, wanted, std::move(fetch), [&](std::uint32_t index) {
    return cache::reserve_blocks(*cache_, plan, wanted.key, wanted.size, index);
  });
}

/// Whether bytes that were fetched ahead are too old to be asked for the first time.
bool CachedGets::old_ahead(const cache::Lookup& hit, std::uint64_t now) const {
  if (mode() != Mode::automatic) return false;
  if (hit.tag != 0) return recalling_ && recalling_->guard.due(1, known_at(hit), now);
  return ahead_ && ahead_->guard.due(1, known_at(hit), now);
}

/// Fetches the block of a hit again, since it is old and these bytes of it were not asked for
/// before. False if nothing was issued.
bool CachedGets::issue_again(const Get& get, TargetState& t, const CacheableGet& wanted,
                             const cache::Lookup& hit) {
  if (hit.block == 0 || !may_fetch_ahead(get, t, wanted)) return false;
  cache::BlockFetch block{.shift = hit.block, .count = 1};
  block.begin = wanted.key.displacement - hit.offset;
  block.end =
      std::min(block.begin + (std::uint64_t{1} << hit.block), ahead_->exposed->of(get.target));
  block.entries[0] = hit.entry;
  std::unique_ptr<AheadFetch> fetch = ahead_->pool.take(block.bytes() + tuning::gets::kLargestUnit);
  if (!fetch) return false;
  fetch->again = fetch->aged = true;
  ahead_->guard.begin(ticks());
  if (!issue_blocks(get, t, wanted, std::move(fetch), [&](std::uint32_t) { return block; }))
    return false;
  ++stats_.ahead_refetches;
  return true;
}

/// Issues a get of the blocks that reserve(index of the get under way) names, and of what the
/// program wants. The program gets its bytes when they have arrived: with the next flush, or with
/// its `request`.
template <class Reserve>
bool CachedGets::issue_blocks(const Get& get, TargetState& t, const CacheableGet& wanted,
                              std::unique_ptr<AheadFetch> fetch, Reserve reserve) {
  const auto unit = static_cast<std::uint64_t>(units_->of(get.target));
  if (unit == 0 || unit > tuning::gets::kLargestUnit || under_way_.full() ||
      under_way_.waiters_full()) {
    ahead_->pool.give_back(std::move(fetch));
    return false;
  }
  std::uint32_t index = 0;
  const auto give_up = [&](bool added) {
    ahead_->pool.give_back(std::move(added ? under_way_[index].ahead : fetch));
    if (added) under_way_.remove(t.pending, index);
    return false;
  };
  try {
    index = under_way_.add(t.pending, get.target, {.purpose = Purpose::ahead});
  } catch (const std::bad_alloc&) {
    return give_up(false);
  }
  under_way_[index].ahead = std::move(fetch);
  const cache::BlockFetch blocks = reserve(index);
  if (blocks.count == 0) return give_up(true);
  PendingGet& pending = under_way_[index];
  pending.ahead->blocks = blocks;
  const std::uint64_t first = std::min(blocks.begin, wanted.key.displacement);
  const std::uint64_t end = std::max(blocks.end, wanted.key.displacement + wanted.size);
  pending.displacement = first - first % unit;
  pending.bytes = end - pending.displacement;
  pending.buffer = pending.ahead->staging.get();
  const auto abandon = [&] {
    if (!pending.ahead->again)
      for (std::uint32_t k = 0; k < blocks.count; ++k) cache_->abandon(blocks.entries[k]);
    return give_up(true);
  };
  if (pending.bytes > std::min(pending.ahead->capacity, options_.readahead.longest_fetch))
    return abandon();
  RequestedGet* operation = nullptr;
  try {
    under_way_.room_for_waiters(1);
    if (get.request)
      operation = &RequestedGet::begin(*watch_, {requests_.cookie_of(index), 0}, *get.request);
  } catch (const std::bad_alloc&) {
    return abandon();
  }
  under_way_.wait_for(pending, get.result.address, wanted.origin, wanted.size,
                      wanted.key.displacement - pending.displacement);
  // Before the get, as for any other (docs/consistency.md, "What the ranks of a node share").
  pending.issued = sharing(get, wanted, t) ? sharing_.now() : 0;
  pending.epoch = coherence_.epochs.now();
  const std::uint64_t start = ticks();
  const auto bytes = static_cast<MPI_Count>(pending.bytes);
  MPI_Request own = MPI_REQUEST_NULL;
  const int result = native(Get::get(pending.buffer, bytes, MPI_BYTE, get.target,
                                     static_cast<MPI_Aint>(pending.displacement / unit), bytes,
                                     MPI_BYTE, get.request ? &own : nullptr),
                            t);
  if (result != MPI_SUCCESS) {
    if (operation) operation->withdraw(*get.request);
    // The program's own get may still be right, and its error is the one to report.
    ahead_->end();
    under_way_.forget_waiters(pending);
    return abandon();
  }
  if (get.request) pending.request = handle_bits(own);
  pending.when = ticks();
  pending.issue_ticks = pending.when - start;
  ahead_->trip(pending.bytes, wanted.size, cache_->stats().gets);
  fetches(get.target, t, pending.displacement, pending.bytes);
  ++stats_.ahead_gets;
  learning_.missed(t, in_batch());
  return true;
}

/// A hit between two blocks, both of which are here or under way: with a `request`, if there is
/// one. False if the get must be issued.
bool CachedGets::serve_split(const Get& get, TargetState& t, const CacheableGet& wanted,
                             const cache::Lookup& hit) {
  if (!wanted.contiguous_at_origin(get) || under_way_.waiters_full()) return false;
  const std::uint64_t now = ticks();
  if (mode() == Mode::automatic && hit.available == wanted.size &&
      (learning_.due(1, known_at(hit), now) || (hit.first && old_ahead(hit, now))))
    return false;
  const std::array<cache::Fragment, 2> fragments = cache_->fragments(wanted.key, wanted.size);
  std::array<std::uint64_t, 2> awaited{};
  for (std::size_t i = 0; i < fragments.size(); ++i) {
    const cache::Fragment& fragment = fragments[i];
    if (!fragment.entry) return false;
    if (fragment.data != nullptr) continue;
    if (!brings(fragment.cookie, get.target, fragment.displacement, fragment.bytes)) return false;
    if (get.request && under_way_[fragment.cookie].request == 0) return false;
    awaited[i] = requests_.cookie_of(fragment.cookie);
  }
  try {
    under_way_.room_for_waiters(fragments.size());
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (get.request && !begin_request(awaited, *get.request)) return false;
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
  ++t.hits;
  learning_.served(t, in_batch());
  if (HOB_UNLIKELY(verifier_.on()) && hit.available == wanted.size) {
    cache::Lookup served = hit;
    served.data = wanted.first_byte(get);
    verify_hit(get, t, wanted, served);
  }
  if (HOB_UNLIKELY(progress_.due(now))) drive_progress();
  return true;
}

/// Whether that get under way is one of blocks that will bring these bytes.
bool CachedGets::brings(std::uint32_t index, int rank, std::uint64_t displacement,
                        std::uint64_t bytes) {
  if (!under_way_.has(index)) return false;
  const PendingGet& pending = under_way_[index];
  return pending.purpose == Purpose::ahead && pending.rank == rank &&
         displacement >= pending.displacement &&
         displacement + bytes <= pending.displacement + pending.bytes;
}

/// Blocks have arrived.
void CachedGets::finish_ahead(PendingGet& pending) {
  std::unique_ptr<AheadFetch> fetch = std::move(pending.ahead);
  const std::byte* staging = fetch->staging.get();
  const std::uint64_t start = ticks();
  under_way_.serve_waiters(pending, staging);
  const cache::BlockFetch& blocks = fetch->blocks;
  if (fetch->aged) ahead_->guard.arrived(start);
  for (std::uint32_t k = 0; k < blocks.count; ++k) {
    const std::byte* from = staging + (blocks.begin_of(k) - pending.displacement);
    if (!blocks.entries[k]) continue;
    if (!fetch->again)
      cache_->fill(blocks.entries[k], from, blocks.bytes_of(k), 0, pending.when);
    else if (cache_->refresh(blocks.entries[k], from, blocks.bytes_of(k), 0, pending.when))
      end_readahead();
  }
  const std::uint64_t spent = ticks() - start;
  ahead_->taken_in(pending.bytes, spent);
  waited_in_phase(spent);
  ahead_->pool.give_back(std::move(fetch));
}

/// Bytes changed with no acquire in between: another process writes while this one reads. What it
/// reads next may have been announced by what it just read.
void CachedGets::end_readahead() {
  ++stats_.ahead_changed;
  ahead_->end();
  note_acquire("bytes that changed");
}

}  // namespace hob::mpi
