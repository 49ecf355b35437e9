#include "mpi/rma/cache/cached_gets.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>

#include "base/clock.hpp"
#include "mpi/core/accelerator.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/rma/cache/hit_cost.hpp"
#include "mpi/rma/cache/tracing.hpp"

namespace hob::mpi {
namespace {

cache::Fetch fetch_of(const Get& get, const CacheableGet& wanted, std::uint32_t index) {
  return {.extent = wanted.extent(get), .cookie = index};
}

}  // namespace

CachedGets::CachedGets(const WindowContext& window, Backend& backend, Outstanding& atomic_results,
                       const OperationCounts& issued, const Options& options,
                       std::unique_ptr<cache::Cache> cache,
                       std::unique_ptr<DisplacementUnits> units)
    : window_(window),
      backend_(backend),
      atomic_results_(atomic_results),
      issued_(issued),
      options_(options),
      cache_(std::move(cache)),
      units_(std::move(units)),
      hot_({.hits = tuning::gets::kHitsBetweenLooks,
            .ticks =
                std::min(ticks_in(options.progress_nanoseconds != 0 ? options.progress_nanoseconds
                                                                    : tuning::gets::kQuickHitsNs) /
                             2,
                         ticks_in(options.poll_nanoseconds) / 4)},
           *cache_),
      coherence_(options.mode, acquires.load(std::memory_order_relaxed)),
      learning_(
          {.poll = {.hits = options.poll_hits,
                    .age = ticks_in(options.poll_nanoseconds),
                    .early_age =
                        ticks_in(options.poll_nanoseconds) / tuning::gets::kUnpricedAgesFaster,
                    .share = options.poll_share},
           .trips = {.profile = {.bypass = options.bypass, .one_node = context().one_node},
                     .burst_samples = tuning::gets::kBurstSamples,
                     .window = window.id,
                     .savings = {.late = ticks_in(gets::WaitMeter::kAttentiveNs),
                                 .late_per_byte = static_cast<double>(gets::WaitMeter::kNsPerByte) *
                                                  ticks_per_nanosecond(),
                                 .one_node = context().one_node}}},
          hit_cost(), under_way_, *cache_),
      completions_(targets_, under_way_),
      requests_(under_way_),
      kept_(*cache_),
      progress_(ticks_in(options.progress_nanoseconds), ticks()),
      sharing_(coherence_.epochs),
      verifier_(options.verify),
      watch_(new RequestWatch(*this)) {
  acquire_users.fetch_add(1, std::memory_order_relaxed);
  settle_own_flushes();
}

CachedGets::~CachedGets() {
  acquire_users.fetch_sub(1, std::memory_order_relaxed);
  watch_->end();
  if (tracking_.is_on()) end_tracking();
}

TargetState& CachedGets::target(int rank) {
  bool lacking = false;
  TargetState& t = targets_.at(rank, lacking, [&](TargetState& added) {
    if (tracking_.was_off() && issued_.any()) coherence_.assume_write(added);
    if (sharing_.on()) added.near = sharing_.near(rank);
    if (window_.near && window_.near->contains(rank)) added.profile.bypass_for_good();
  });
  if (HOB_UNLIKELY(lacking))
    tracking_.lose_track();  // its writes are not noted where they are looked for
  return t;
}

std::uint64_t CachedGets::hits(int rank) {
  const std::lock_guard guard(lock_);
  return target(rank).hits;
}

std::optional<std::uint64_t> CachedGets::hits_if_closed(int rank) {
  const Entered guard(*this);
  if (!tracking_.is_on()) return std::nullopt;
  TargetState& t = target(rank);
  if (!t.closed) return std::nullopt;
  t.closed = false;
  return t.hits;
}

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
  if (is_served(get, t, wanted, hit)) return MPI_SUCCESS;
  if (const int error = let_in(get.target, guard)) return error;
  apply_acquires();
  hit = cache_->find(wanted.key, wanted.size);
  return MPI_SUCCESS;
}

/// Gives a get to the library.
int CachedGets::native(const Get& get, TargetState& t) {
  hot_.close();
  ++t.gets;
  ++stats_.native_gets;
  if (get.target == window_.rank) own_epoch_.end();
  t.profile.count_get(learning_.profile());
  const std::uint64_t start = HOB_UNLIKELY(recalling_) ? ticks() : 0;
  const int result = backend_.issue(get);
  if (HOB_UNLIKELY(start != 0)) waited_in_phase(ticks() - start);
  // What an atomic read returns may announce writes to other memory.
  if (get.is_atomic() && mode() != Mode::always && !options_.atomic_reads_are_gets &&
      get.target >= 0)
    atomic_results_.add(get.target);
  return result;
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
  const bool plain = remote.usable && origin.usable && get.result.count >= 0 &&
                     get.target_count >= 0 &&
                     size == origin.size * static_cast<std::uint64_t>(get.result.count) &&
                     size != 0 && (remote.extent >= 0 || get.target_count == 1);
  if (HOB_UNLIKELY(!plain || (get.is_atomic() && mode() == Mode::automatic &&
                              !options_.atomic_reads_are_gets))) {
    ++stats_.uncacheable;
    return skipped(get, plain ? SkipReason::atomic : SkipReason::irregular);
  }
  if (HOB_UNLIKELY(learning_.skips()) && !tracing) {
    ++stats_.short_lived;
    return skipped(get, SkipReason::short_lived);
  }
  tracking_.useful();
  apply_acquires();
  const bool contiguous = one_block(remote, get.target_count);
  const cache::Key key{
      static_cast<std::uint32_t>(get.target),
      static_cast<std::uint64_t>(static_cast<std::int64_t>(get.disp) * units_->of(get.target) +
                                 remote.low),
      contiguous ? 0 : remote.id};
  const CacheableGet wanted{&remote, &origin, key, size, contiguous};
  if (HOB_UNLIKELY(tracing))
    record({.target = key.target,
            .displacement = key.displacement,
            .size = size,
            .layout = key.layout,
            .extent = wanted.extent(get)});
  return wanted;
}

void CachedGets::pass_by(int target) {
  constexpr std::uint32_t kBetweenLooks = 256;
  std::uint64_t& passed = target == window_.rank ? stats_.own_untracked : stats_.untracked;
  tally(passed);
  completions_.pass_by();
  // Its owner reads its own memory by gets: it need not be for loads.
  const bool may_load =
      target == window_.rank && own_epochs_of_loads.load(std::memory_order_relaxed) != 0;
  const bool look = !many_threads && passed % kBetweenLooks == 0;  // else it never rests
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
    if (waits_for_lock(get.target)) result = let_in(get.target, guard);
    if (result == MPI_SUCCESS) result = native(get, t);
  } else {
    const bool watched = ahead_ && HOB_UNLIKELY(ahead_->readahead.recording()) && wanted.contiguous;
    cache::Lookup hit = cache_->find(wanted.key, wanted.size);
    if (waits_for_lock(get.target)) result = look_again(get, t, wanted, guard, hit);
    if (HOB_LIKELY(result == MPI_SUCCESS)) result = answer(get, t, wanted, hit);
    if (recalling_) after_look_up(get, t, wanted, hit, result == MPI_SUCCESS, false);
    // While the get is under way, if one is.
    if (watched) watch(wanted, hit);
  }
  if (HOB_UNLIKELY(batches_->full.get())) {
    guard.unlock();
    backend_.keep_bounds(get.target);
  }
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

void CachedGets::fetch_ahead(std::unique_ptr<ExposedSizes> exposed) {
  const double tick = ticks_per_nanosecond();
  cache::Readahead::Config config = options_.readahead;
  config.latency = tuning::gets::kFirstLatencyNs * tick;
  config.per_byte = tuning::gets::kFirstNsPerByte * tick;
  ahead_.reset(new (std::nothrow) Ahead(
      config, std::move(exposed),
      {.hits = ~std::uint32_t{0},
       .age = ticks_in(options_.poll_nanoseconds) / tuning::gets::kAheadAgesFaster,
       .share = options_.poll_share},
      config.latency, config.per_byte));
  if (ahead_) learning_.set_block_cost(ahead_->cost);
}

void CachedGets::may_read_all() {
  const Entered guard(*this);
  if (ahead_) ahead_->exposed->know_all_readable();
}

/// Whether the get under way of a hit on pending bytes will bring them. One with a request of the
/// library's may not: the program may free the request.
bool CachedGets::will_bring(const Get& get, const CacheableGet& wanted, const cache::Lookup& hit) {
  if (!under_way_.has(hit.cookie)) return false;
  if (hit.block != 0 && brings(hit.cookie, get.target, wanted.key.displacement, wanted.size))
    return true;
  const PendingGet& pending = under_way_[hit.cookie];
  if (pending.purpose == Purpose::recall) return recalled_place(hit.cookie, wanted, hit) != nullptr;
  return pending.entry == hit.entry &&
         (pending.purpose == Purpose::fetch ||
          (pending.purpose == Purpose::requested && pending.request != 0));
}

/// A hit on bytes that a get under way will bring. False if the get must be issued.
bool CachedGets::serve_pending(const Get& get, TargetState& t, const CacheableGet& wanted,
                               const cache::Lookup& hit) {
  if (under_way_.waiters_full() || !will_bring(get, wanted, hit)) return false;
  PendingGet& pending = under_way_[hit.cookie];
  const std::uint64_t offset = pending.purpose == Purpose::ahead
                                   ? wanted.key.displacement - pending.displacement
                               : pending.purpose == Purpose::recall
                                   ? recalled_place(hit.cookie, wanted, hit)->offset + hit.offset
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

/// A hit, at the time `now`.
void CachedGets::serve(const Get& get, TargetState& t, const CacheableGet& wanted,
                       const cache::Lookup& hit, std::uint64_t now) {
  const Layout& origin = *wanted.origin;
  if (HOB_LIKELY(origin.dense))
    std::memcpy(static_cast<std::byte*>(get.result.address) + origin.low, hit.data, wanted.size);
  else
    unpack(origin, get.result.address, hit.data, wanted.size);
  ++t.hits;
  learning_.served(t, in_batch());
  if (hit.fetched < kept_.at()) ++stats_.kept_hits;
  if (HOB_UNLIKELY(verifier_.on())) verify_hit(get, t, wanted, hit);
  if (HOB_UNLIKELY(progress_.due(now))) drive_progress();
  expect_again(get, t, wanted, now);
}

/// A get was served at time `now`: those like it are, until something else happens.
void CachedGets::expect_again(const Get& get, TargetState& t, const CacheableGet& wanted,
                              std::uint64_t now) {
  cache::HitTerms terms;
  if (mode() == Mode::automatic) terms = learning_.not_due(kept_.at(), now);
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

/// A hit that is fetched again, in case the program polls.
int CachedGets::refetch_hit(const Get& get, TargetState& t, const CacheableGet& wanted,
                            const cache::Lookup& hit, std::uint64_t now) {
  refetch_begins(hit.tag != 0, now);
  return refetch(get, t,
                 {.entry = hit.entry,
                  .layout = wanted.origin,
                  .bytes = wanted.size,
                  .offset = hit.offset,
                  .speculative = hit.tag != 0});
}

/// A process that lives on hits never enters the MPI library, and many libraries let others'
/// operations on it advance only there.
void CachedGets::drive_progress() {
  requests::drive_progress();
  progress_.entered(ticks());
  ++stats_.progress_calls;
}

/// Issues a get of the bytes, which are kept when they have arrived.
int CachedGets::issue(const Get& get, TargetState& t, const CacheableGet& wanted) {
  const std::uint64_t start = ahead_ || HOB_UNLIKELY(t.profile.sampling()) ? ticks() : 0;
  const std::uint64_t issued = sharing(get, wanted, t) ? sharing_.now() : 0;
  const int result = native(get, t);
  if (result != MPI_SUCCESS || under_way_.full()) return result;
  learning_.missed(t, in_batch());
  if (ahead_) ahead_->trip(wanted.size, wanted.size, cache_->stats().gets);
  fetches(get.target, t, wanted.key.displacement, wanted.extent(get));
  const std::uint64_t now = ticks();
  try {
    const std::uint32_t index = under_way_.add(t.pending, get.target,
                                               {.buffer = get.result.address,
                                                .layout = wanted.origin,
                                                .bytes = wanted.size,
                                                .issue_ticks = start != 0 ? now - start : 0,
                                                .when = now,
                                                .displacement = wanted.key.displacement,
                                                .issued = issued,
                                                .epoch = coherence_.epochs.now()});
    const cache::EntryId entry =
        cache_->reserve(wanted.key, wanted.size, fetch_of(get, wanted, index)).entry;
    under_way_[index].entry = entry;
    // No hit can wait for one that has no place. Whoever times waits must see that there are
    // several.
    if (!entry && issued == 0 && t.pending.size() > 2) under_way_.remove(t.pending, index);
    // The bytes are copied there when they have arrived: time to fetch its cache lines is now.
    if (const std::byte* place = entry ? cache_->writable(entry) : nullptr)
      for (std::uint64_t at = 0; at < std::min(wanted.size, tuning::gets::kPrefetched); at += 64)
        __builtin_prefetch(place + at, 1, 2);
  } catch (const std::bad_alloc&) {
    // Not kept: the get itself is under way and will be complete at the flush.
  }
  return result;
}

/// A hit of the first bytes: issues a get of the others, with this result. False if their
/// displacement cannot be expressed in the target's unit.
bool CachedGets::issue_tail(const Get& get, TargetState& t, const CacheableGet& wanted,
                            const cache::Lookup& hit, int& result) {
  const std::uint64_t tail = wanted.key.displacement + hit.available;
  const auto unit = static_cast<std::uint64_t>(units_->of(get.target));
  if (unit == 0 || tail % unit != 0 || under_way_.full()) return false;
  std::byte* buffer = wanted.first_byte(get);
  const std::uint64_t missing = wanted.size - hit.available;
  std::memcpy(buffer, hit.data, hit.available);
  const auto count = static_cast<MPI_Count>(missing);
  result = native(Get::get(buffer + hit.available, count, MPI_BYTE, get.target,
                           static_cast<MPI_Aint>(tail / unit), count, MPI_BYTE),
                  t);
  if (result != MPI_SUCCESS) return true;
  fetches(get.target, t, wanted.key.displacement, wanted.size);
  try {
    const std::uint32_t index = under_way_.add(t.pending, get.target,
                                               {.buffer = buffer + hit.available,
                                                .layout = &layout_of(MPI_BYTE),
                                                .bytes = missing,
                                                .offset = hit.available,
                                                .when = ticks(),
                                                .purpose = Purpose::tail});
    if (cache_->extend(hit.entry, wanted.size, {.extent = wanted.size, .cookie = index}))
      under_way_[index].entry = hit.entry;
  } catch (const std::bad_alloc&) {
    // As in issue().
  }
  return true;
}

/// Fetches a hit again, straight into the program's buffer, to see whether it changed.
/// `pending` describes it.
int CachedGets::refetch(const Get& get, TargetState& t, PendingGet pending) {
  ++stats_.refetches;
  const std::uint64_t start = ticks();
  const int result = native(get, t);
  if (result != MPI_SUCCESS) return result;
  pending.buffer = get.result.address;
  pending.when = ticks();
  pending.issue_ticks = pending.when - start;
  pending.purpose = Purpose::refetch;
  const cache::EntryId entry = pending.entry;
  if (under_way_.full()) return cache_->drop(entry), result;
  try {
    under_way_.add(t.pending, get.target, std::move(pending));
  } catch (const std::bad_alloc&) {
    cache_->drop(entry);
  }
  return result;
}

/// Fetches a hit as well, to compare.
void CachedGets::verify_hit(const Get& get, TargetState& t, const CacheableGet& wanted,
                            const cache::Lookup& hit) {
  if (!verifier_.chosen() || get.is_atomic() || under_way_.full()) return;
  const std::uint64_t size = wanted.size;
  try {
    std::unique_ptr<std::byte[]> bytes(new std::byte[2 * size]);
    std::memcpy(bytes.get() + size, hit.data, size);
    Get again = get;
    again.result = {bytes.get(), static_cast<MPI_Count>(size), MPI_BYTE};
    again.request = nullptr;
    if (native(again, t) != MPI_SUCCESS) return;
    ++stats_.verified;
    under_way_.add(t.pending, get.target,
                   {.buffer = bytes.get(),
                    .layout = &layout_of(MPI_BYTE),
                    .bytes = size,
                    .purpose = Purpose::verify,
                    .displacement = wanted.key.displacement,
                    .served = std::move(bytes)});
  } catch (const std::bad_alloc&) {
    // One comparison fewer.
  }
}

std::uint64_t CachedGets::memory_bytes() const {
  return cache_->memory_bytes() + under_way_.memory_bytes() + targets_.memory_bytes() +
         units_->memory_bytes() + (ahead_ ? ahead_->memory_bytes() : 0) +
         (recalling_ ? recalling_->memory_bytes() : 0);
}

}  // namespace hob::mpi
