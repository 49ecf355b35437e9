// What the gets of a window, and the waits for them, say: which copies are worth keeping, which
// hits to fetch again, what a trip costs. Pure.
#pragma once

#include <cstdint>

#include "cache/cache.hpp"
#include "gets/gets_under_way.hpp"
#include "gets/hit_cost.hpp"
#include "gets/once_trial.hpp"
#include "gets/poll_guard.hpp"
#include "gets/reuse_trial.hpp"
#include "gets/savings.hpp"
#include "gets/target_profile.hpp"
#include "gets/target_state.hpp"
#include "gets/trip_meter.hpp"
#include "pay/price.hpp"

namespace hob::gets {

/// Of one window. Times are ticks of one clock. Not thread safe.
class Learning {
 public:
  struct Config {
    PollGuard::Config poll{};
    TripMeter::Config trips{};
  };

  /// What is `under_way`, the `cache` and what a `hit` takes outlive the object.
  Learning(const Config& config, const HitCost& hit, const GetsUnderWay& under_way,
           cache::Cache& cache)
      : cache_(cache),
        poll_guard_(config.poll),
        meter_(config.trips, hit, under_way, poll_guard_, cache) {}

  // Which copies are worth keeping.

  /// There are gets with requests. On one node, waits for arrays of these are not measured, and
  /// most targets there are near().
  void requested(bool one_node) { near_requests_ = one_node; }
  /// Whether gets from a target cost so little that they are only kept where most of them hit.
  bool cheap(const TargetState& target, bool batched) const {
    return batched || target.profile.near() || near_requests_;
  }
  /// A get comes. Whether it is left to the library, since copies are dropped before they are used.
  bool skips() { return trial_.skips(); }
  /// Likewise, since gets like it do not come back.
  bool leaves(int target, std::uint64_t place, std::uint64_t bytes, bool hidden = false) {
    return once(bytes).leaves(static_cast<std::uint32_t>(target), place, bytes, hidden);
  }
  /// It was looked up, and had to be fetched; it was served, at least in part.
  void missed(const TargetState& target, std::uint64_t bytes, bool batched) {
    trial_.missed(cheap(target, batched));
    once(bytes).missed(cache_.stats().gets,
                       [&](std::uint64_t number) { return cache_.reused_since(number); });
  }
  /// The program has waited for what it had asked for; not: there was nothing to wait for.
  void completed() { small_once_.waited(); }
  void served(const TargetState& target, bool batched) {
    trial_.served(cheap(target, batched));
    large_once_.served();
    small_once_.served();
  }
  /// Another hit on a target of which gets are cheap.
  void served_cheaply() { trial_.served(true); }
  /// Everything that was kept is forgotten.
  void dropped() { trial_.dropped(); }

  // Which hits to fetch again, in case the program polls.

  /// A hit, the `consecutive`-th in a row on bytes known to be true at `known_at`.
  bool due(std::uint32_t consecutive, std::uint64_t known_at, std::uint64_t now) const {
    return poll_guard_.due(consecutive, known_at, now);
  }
  /// What of hits must hold so that they are not due. All copies were known to be true at
  /// `kept_at`.
  cache::HitTerms not_due(std::uint64_t kept_at, std::uint64_t now) const {
    const std::uint64_t oldest = poll_guard_.oldest(now);
    return {.oldest = kept_at < oldest ? oldest : 0, .longest_row = poll_guard_.polls()};
  }
  void refetch_begins(std::uint64_t now) { poll_guard_.begin(now); }
  void refetch_arrived(std::uint64_t now) { poll_guard_.arrived(now); }

  // What a trip costs.

  /// From now on, blocks may be fetched, which has this price.
  void set_block_cost(pay::Price& cost) { meter_.set_block_cost(cost); }
  const TargetProfile::Config& profile() const { return meter_.profile(); }
  /// A get with a request, which was complete when it was issued: its call took `spent`.
  void arrived_at_once(TargetState& target, int rank, std::uint64_t bytes, std::uint64_t spent) {
    meter_.arrived_at_once(target, rank, bytes, spent);
  }
  /// The gets under way to a target took `ticks` to arrive, after the program began to wait.
  void waited(TargetState& target, std::uint64_t ticks, bool batched) {
    meter_.learn(target, ticks, batched);
  }
  /// The same for a get with a request, which was issued at `issued`.
  void waited_for_request(TargetState& target, std::uint64_t issued, std::uint64_t ticks,
                          std::uint64_t now, bool batched) {
    meter_.learn(target, ticks, batched, issued > last_arrival_);
    last_arrival_ = now;
  }
  /// The same for the gets to all targets; `alone(target)`: nothing else was waited for there.
  template <class Alone>
  void waited_for_all(TargetTable& targets, std::uint64_t ticks, bool batched, Alone alone) {
    TripMeter::Together together;
    TargetState* last = nullptr;
    int awaited = 0;
    bool nothing_else = true;
    targets.each([&](TargetState& target) {
      if (target.pending.empty()) return;
      nothing_else = nothing_else && target.recalls == 0 && alone(target);
      ++awaited;
      last = &target;
      meter_.add(together, target);
    });
    if (!nothing_else) return;
    if (awaited == 1)
      meter_.learn(*last, ticks, batched);
    else
      meter_.waited(together, ticks);
  }

  /// To keep so many bytes, CopyWorth::kLarge at least, took `ticks`.
  void stored(std::uint64_t bytes, std::uint64_t ticks) { meter_.stored(bytes, ticks); }

  /// The median wait for one small get; 0: too few were measured.
  std::uint64_t typical_trip() const { return meter_.savings().typical_trip(); }
  /// What the program would have waited without the hits.
  pay::SavedRange saved(const Savings::Counts& counts) const {
    return meter_.savings().estimate(counts);
  }

 private:
  OnceTrial& once(std::uint64_t bytes) {
    return bytes < OnceTrial::kLarge ? small_once_ : large_once_;
  }

  const cache::Cache& cache_;
  ReuseTrial trial_;
  OnceTrial large_once_{OnceTrial::kLargeGets};
  OnceTrial small_once_{OnceTrial::kSmallGets};
  bool near_requests_ = false;
  PollGuard poll_guard_;
  TripMeter meter_;
  std::uint64_t last_arrival_ = 0;  ///< of a get with a request
};

}  // namespace hob::gets
