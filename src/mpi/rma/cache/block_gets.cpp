#include "mpi/rma/cache/block_gets.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "cache/block.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/cache/hit_cost.hpp"

namespace hob::mpi {

/// Whether more than this get may be fetched: see docs/consistency.md for each condition.
bool BlockGets::may_fetch(const Get& get, const TargetState& t, const CacheableGet& wanted) const {
  const Mode mode = parts_.coherence.mode();
  return parts_.ahead.readahead.enabled() && wanted.contiguous && !get.is_atomic() &&
         mode != Mode::strict && mode != Mode::off && !t.writing();
}

bool BlockGets::issue(const Get& get, TargetState& t, const CacheableGet& wanted, bool recalled,
                      bool aged) {
  if (!may_fetch(get, t, wanted) || t.hides_trip(wanted.size)) return false;
  Ahead& ahead = parts_.ahead;
  const cache::Cache& cache = parts_.cache;
  const TargetProfile::Config& profile = parts_.learning.profile();
  ahead.beside_recalled(recalled, cache.stats().ahead_hits);
  const bool in_batch = parts_.issuer.in_batch();
  const double ticks_each = in_batch ? parts_.issuer.batches().ticks_each.get() : 0;
  // What a block brings is found by a hit for each get, which costs about as much.
  if (in_batch && ticks_each < static_cast<double>(profile.worthwhile * hit_cost().of(wanted.size)))
    return false;
  ahead.price(ticks_each);
  ahead.readahead.on_hits(cache.stats().ahead_hits);
  const ExposedSizes& exposed = *ahead.exposed;
  const auto unit =
      static_cast<std::uint64_t>(std::max<std::int64_t>(parts_.units.of(get.target), 1));
  const cache::Readahead::Plan plan = ahead.readahead.on_miss(
      wanted.key.target, wanted.key.displacement, wanted.size, exposed.of(get.target),
      exposed.around(get.target, wanted.key.displacement, wanted.size, unit), cache.storage_bytes(),
      cache.most_storage_bytes());
  if (!plan) return false;
  // Blocks would take away the samples that the verdict needs.
  if (t.profile.too_quick_for_blocks(profile, hit_cost().of(wanted.size), context().one_node))
    return false;
  std::unique_ptr<AheadFetch> fetch =
      ahead.pool.take(plan.end - plan.begin + tuning::gets::kLargestUnit);
  if (!fetch) return false;
  fetch->aged = aged;
  return issue_blocks(get, t, wanted, std::move(fetch), [&](std::uint32_t index) {
    return cache::reserve_blocks(parts_.cache, plan, wanted.key, wanted.size, index);
  });
}

bool BlockGets::issue_again(const LookedUp& asked) {
  const auto& [get, t, wanted, hit] = asked;
  if (hit.block == 0 || !may_fetch(get, t, wanted)) return false;
  Ahead& ahead = parts_.ahead;
  cache::BlockFetch block{.shift = hit.block, .count = 1};
  block.begin = wanted.key.displacement - hit.offset;
  block.end =
      std::min(block.begin + (std::uint64_t{1} << hit.block), ahead.exposed->of(get.target));
  block.entries[0] = hit.entry;
  std::unique_ptr<AheadFetch> fetch = ahead.pool.take(block.bytes() + tuning::gets::kLargestUnit);
  if (!fetch) return false;
  fetch->again = fetch->aged = true;
  ahead.guard.begin(ticks());
  if (!issue_blocks(get, t, wanted, std::move(fetch), [&](std::uint32_t) { return block; }))
    return false;
  ++parts_.stats.ahead_refetches;
  return true;
}

/// A get of blocks that was taken up is not issued. False.
bool BlockGets::give_up(TargetState& t, std::uint32_t index) {
  PendingGet& pending = parts_.under_way[index];
  const cache::BlockFetch& blocks = pending.ahead->blocks;
  if (!pending.ahead->again)
    for (std::uint32_t k = 0; k < blocks.count; ++k) parts_.cache.abandon(blocks.entries[k]);
  parts_.ahead.pool.give_back(std::move(pending.ahead));
  parts_.under_way.remove(t.pending, index);
  return false;
}

/// A get of blocks that is to be issued is under way from here on. Its index, or kNone: there is no
/// room for it.
std::uint32_t BlockGets::take_up(const Get& get, TargetState& t) {
  const auto unit = static_cast<std::uint64_t>(parts_.units.of(get.target));
  GetsUnderWay& under_way = parts_.under_way;
  if (unit == 0 || unit > tuning::gets::kLargestUnit || under_way.full() ||
      under_way.waiters_full())
    return PendingGet::kNone;
  try {
    return under_way.add(t.pending, get.target, {.purpose = PendingGet::Purpose::ahead});
  } catch (const std::bad_alloc&) {
    return PendingGet::kNone;
  }
}

/// Says which bytes a get of blocks brings. False: these are too many for one.
bool BlockGets::lay_out(PendingGet& pending, const CacheableGet& wanted,
                        const cache::BlockFetch& blocks) const {
  const auto unit = static_cast<std::uint64_t>(parts_.units.of(pending.rank));
  pending.ahead->blocks = blocks;
  const std::uint64_t first = std::min(blocks.begin, wanted.key.displacement);
  const std::uint64_t end = std::max(blocks.end, wanted.key.displacement + wanted.size);
  pending.displacement = first - first % unit;
  pending.bytes = end - pending.displacement;
  pending.buffer = pending.ahead->staging.get();
  return pending.bytes <= std::min(pending.ahead->capacity, longest_fetch_);
}

/// Issues a get of the blocks that reserve(index of the get under way) names, and of what the
/// program wants. The program gets its bytes when they have arrived: with the next flush, or with
/// its `request`.
template <class Reserve>
bool BlockGets::issue_blocks(const Get& get, TargetState& t, const CacheableGet& wanted,
                             std::unique_ptr<AheadFetch> fetch, Reserve reserve) {
  GetsUnderWay& under_way = parts_.under_way;
  const std::uint32_t index = take_up(get, t);
  if (index == PendingGet::kNone) {
    parts_.ahead.pool.give_back(std::move(fetch));
    return false;
  }
  PendingGet& pending = under_way[index];
  pending.ahead = std::move(fetch);
  const cache::BlockFetch blocks = reserve(index);
  if (blocks.count == 0 || !lay_out(pending, wanted, blocks)) return give_up(t, index);
  RequestedGet* operation = nullptr;
  try {
    under_way.room_for_waiters(1);
    if (get.request) operation = &parts_.requests.begin(index, *get.request);
  } catch (const std::bad_alloc&) {
    return give_up(t, index);
  }
  under_way.wait_for(pending, get.result.address, wanted.origin, wanted.size,
                     wanted.key.displacement - pending.displacement);
  // Before the get, as for any other (docs/consistency.md, "What the ranks of a node share").
  pending.issued = parts_.sharing.covers(get, wanted, t) ? parts_.sharing.now() : 0;
  pending.epoch = parts_.coherence.epochs.now();
  const auto unit = static_cast<std::uint64_t>(parts_.units.of(get.target));
  const std::uint64_t start = ticks();
  const auto bytes = static_cast<MPI_Count>(pending.bytes);
  MPI_Request own = MPI_REQUEST_NULL;
  const int result =
      parts_.issuer.issue(Get::get(pending.buffer, bytes, MPI_BYTE, get.target,
                                   static_cast<MPI_Aint>(pending.displacement / unit), bytes,
                                   MPI_BYTE, get.request ? &own : nullptr),
                          t);
  if (result != MPI_SUCCESS) {
    if (operation) operation->withdraw(*get.request);
    // The program's own get may still be right, and its error is the one to report.
    parts_.ahead.end();
    under_way.forget_waiters(pending);
    return give_up(t, index);
  }
  if (get.request) pending.request = handle_bits(own);
  pending.when = ticks();
  pending.issue_ticks = pending.when - start;
  parts_.kept.fetches(get.target, t, pending.displacement, pending.bytes);
  ++parts_.stats.ahead_gets;
  parts_.issuer.missed(t, wanted.size, pending.bytes);
  return true;
}

std::uint64_t BlockGets::finish(PendingGet& pending) {
  Ahead& ahead = parts_.ahead;
  cache::Cache& cache = parts_.cache;
  std::unique_ptr<AheadFetch> fetch = std::move(pending.ahead);
  const std::byte* staging = fetch->staging.get();
  const std::uint64_t start = ticks();
  parts_.under_way.serve_waiters(pending, staging);
  const cache::BlockFetch& blocks = fetch->blocks;
  if (fetch->aged) ahead.guard.arrived(start);
  for (std::uint32_t k = 0; k < blocks.count; ++k) {
    const std::byte* from = staging + (blocks.begin_of(k) - pending.displacement);
    if (!blocks.entries[k]) continue;
    if (!fetch->again)
      cache.fill(blocks.entries[k], from, blocks.bytes_of(k), 0, pending.when);
    else if (cache.refresh(blocks.entries[k], from, blocks.bytes_of(k), 0, pending.when))
      end();
  }
  const std::uint64_t spent = ticks() - start;
  ahead.taken_in(pending.bytes, spent);
  ahead.pool.give_back(std::move(fetch));
  return spent;
}

/// Bytes changed with no acquire in between: another process writes while this one reads. What it
/// reads next may have been announced by what it just read.
void BlockGets::end() {
  ++parts_.stats.ahead_changed;
  parts_.ahead.end();
  note_acquire("bytes that changed");
}

}  // namespace hob::mpi
