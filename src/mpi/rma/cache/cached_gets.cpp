#include "mpi/rma/cache/cached_gets.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>

#include "base/clock.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/cache/hit_cost.hpp"

namespace hob::mpi {
namespace {

/// How old bytes may be that were fetched ahead of their first get.
PollGuard::Config age_unasked(const GetOptions& options) {
  return {.hits = ~std::uint32_t{0},
          .age = ticks_in(options.poll_nanoseconds) / tuning::gets::kAheadAgesFaster,
          .share = options.poll_share};
}

}  // namespace

CachedGets::CachedGets(const WindowContext& window, Backend& backend, Outstanding& atomic_results,
                       const OperationCounts& issued, const GetOptions& options,
                       std::unique_ptr<cache::Cache> cache,
                       std::unique_ptr<DisplacementUnits> units)
    : window_(window),
      backend_(backend),
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
      coherence_(options.mode, acquires.count.load(std::memory_order_relaxed)),
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
      kept_(*cache_),
      progress_(ticks_in(options.progress_nanoseconds), ticks()),
      sharing_(coherence_),
      verifier_(options.verify),
      issuer_({.rank = window.rank, .atomic_reads_are_gets = options.atomic_reads_are_gets},
              {backend, atomic_results, *cache_, *units_, coherence_, sharing_, hot_, own_epoch_,
               under_way_, learning_, kept_, stats_}),
      reports_(window.rank, {*this, lock_, hot_, *cache_, coherence_, tracking_, targets_,
                             own_rank_, kept_, stats_}),
      requested_({*this, lock_, hot_, issuer_, backend, *cache_, targets_, under_way_, learning_,
                  kept_, progress_, stats_}) {
  settle_own_flushes();
}

CachedGets::~CachedGets() {
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
  const Entered guard(lock_, hot_);
  if (!tracking_.is_on()) return std::nullopt;
  TargetState& t = target(rank);
  if (!t.closed) return std::nullopt;
  t.closed = false;
  return t.hits;
}

void CachedGets::fetch_ahead(std::unique_ptr<ExposedSizes> exposed) {
  const double tick = ticks_per_nanosecond();
  cache::Readahead::Config config = options_.readahead;
  config.latency = tuning::gets::kFirstLatencyNs * tick;
  config.per_byte = tuning::gets::kFirstNsPerByte * tick;
  ahead_.reset(new (std::nothrow) Ahead(config, std::move(exposed), age_unasked(options_),
                                        config.latency, config.per_byte));
  if (!ahead_) return;
  learning_.set_block_cost(ahead_->cost);
  issuer_.know_ahead(*ahead_);
  blocks_.emplace(options_.readahead.longest_fetch,
                  BlockGets::Parts{*ahead_, issuer_, requested_, *cache_, *units_, coherence_,
                                   sharing_, under_way_, learning_, kept_, stats_});
}

void CachedGets::recall(Backend& carrier, bool indexed, recall::Room& room) {
  recalls_.reset(new (std::nothrow) RecallGets(
      {.window = window_.id,
       .rank = window_.rank,
       .indexed = indexed,
       .judged = context().settings.recall != "always",
       .longest_fetch = options_.readahead.longest_fetch,
       .age = age_unasked(options_)},
      {*this, backend_, carrier, room, ahead_.get(), issuer_, *cache_, *units_, coherence_,
       sharing_, tracking_, under_way_, learning_, kept_, stats_}));
}

void CachedGets::reaches_all(bool all) {
  if (!recalls_) return;
  const std::lock_guard guard(lock_);
  recalls_->reaches_all(all);
}

double CachedGets::typical_trip() const {
  const std::uint64_t seen = learning_.typical_trip();
  return seen != 0 || !ahead_ ? static_cast<double>(seen) : ahead_->cost.latency();
}

void CachedGets::may_read_all() {
  const Entered guard(lock_, hot_);
  if (ahead_) ahead_->exposed->know_all_readable();
}

std::uint64_t CachedGets::memory_bytes() const {
  return cache_->memory_bytes() + under_way_.memory_bytes() + targets_.memory_bytes() +
         units_->memory_bytes() + (ahead_ ? ahead_->memory_bytes() : 0) +
         (recalls_ ? recalls_->memory_bytes() : 0);
}

}  // namespace hob::mpi
