#include "gets/trip_meter.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"

namespace hob::gets {

void TripMeter::learn(TargetState& target, std::uint64_t waited, bool batched, bool whole) {
  // The wait was for more than the program asked for.
  if (target.pending.empty() || target.recalls != 0) return;
  if (target.profile.sampling() && target.pending.size() == 1 &&
      under_way_[target.pending[0]].misses())
    measure(target, under_way_[target.pending[0]], waited);
  else if (target.profile.sampling() && config_.profile.one_node) [[unlikely]]
    measure_burst(target, waited);
  if (blocks_) measure_block_cost(target, waited, batched);
  if (!whole) return;
  Together together;
  add(together, target);
  this->waited(together, waited);
}

void TripMeter::stored(std::uint64_t bytes, std::uint64_t ticks) {
  constexpr std::uint32_t kBetweenLooks = 8;
  copies_.stored(bytes, ticks);
  if (stored_++ % kBetweenLooks != 0 || !copies_.known()) return;
  const double stores = copies_.stores_per_hit();
  cache_.set_stores_per_hit(stores);
  if (std::exchange(copies_pay_, stores >= 1) != copies_pay_)
    log::line(log::Level::debug, "window {}: of large gets, a hit pays for {:.2f} copies",
              config_.window, stores);
}

/// How fast the target's own gets are: one get, one flush, nothing else in between.
void TripMeter::measure(TargetState& target, int rank, std::uint64_t bytes, std::uint64_t spent) {
  TargetProfile& profile = target.profile;
  const std::uint64_t hit = hit_.of(bytes);
  if (!profile.sample(config_.profile, bytes, spent, hit)) return;
  log::line(log::Level::debug,
            "window {}: rank {} is {}: a get and its flush take {} ticks, a hit {}", config_.window,
            rank, profile.bypassed() ? "bypassed" : "cached", profile.fastest(), hit);
  guard_.cost(profile.fastest());
  if (const std::uint64_t worth = profile.latency_bytes()) cache_.set_latency_bytes(worth);
}

/// Of programs that issue many gets before a flush: on one node, where gets are not under
/// way beside one another, each takes what its call took and its share of the flush.
void TripMeter::measure_burst(TargetState& target, std::uint64_t flush_ticks) {
  const std::size_t step =
      std::max<std::size_t>(target.pending.size() / config_.profile.samples, 1);
  sample_burst(target, step, [&](const PendingGet& pending) {
    if (target.profile.sampling()) measure(target, pending, flush_ticks / target.pending.size());
  });
}

/// Of gets of whatever size, for as long as the window lives.
void TripMeter::measure_block_cost(const TargetState& target, std::uint64_t flush_ticks,
                                   bool batched) {
  const std::size_t gets = target.pending.size();
  if (gets != 1) {
    if (batched) return;
    // Less than one alone takes, and no more is spared where it is a hit.
    sample_burst(target, 1 + gets / config_.burst_samples, [&](const PendingGet& pending) {
      if (pending.bytes <= pay::Price::kSmall)
        blocks_->add(pending.bytes, pending.issue_ticks + flush_ticks / gets);
    });
    return;
  }
  const PendingGet& pending = under_way_[target.pending[0]];
  const bool ahead = pending.purpose == PendingGet::Purpose::ahead;
  if (!pending.misses() && !ahead) return;
  blocks_->add(pending.bytes, pending.issue_ticks + flush_ticks);
  // Blocks alone give it no samples. A first target that was late makes latency look long for long.
  if (target.profile.sampling())
    guard_.cost(std::min(static_cast<std::uint64_t>(blocks_->latency()),
                         pending.issue_ticks + flush_ticks));
  if (ahead) cache_.set_latency_bytes(blocks_->latency_bytes());
}

/// use(pending) for one in `step` of the gets that one flush ends, if its call was timed.
template <class Use>
void TripMeter::sample_burst(const TargetState& target, std::size_t step, Use use) const {
  for (std::size_t i = 0; i < target.pending.size(); i += step) {
    const PendingGet& pending = under_way_[target.pending[i]];
    if (pending.misses() && pending.issue_ticks != 0) use(pending);
  }
}

/// Of many, some are looked at.
void TripMeter::add(Together& together, const TargetState& target) const {
  constexpr std::size_t kLookedAt = 16;
  const std::size_t gets = target.pending.size();
  const std::size_t step = 1 + gets / kLookedAt;
  std::uint64_t seen = 0, bytes = 0, issue = 0;
  for (std::size_t i = 0; i < gets; i += step) {
    const PendingGet& pending = under_way_[target.pending[i]];
    ++seen;
    bytes += pending.bytes;
    issue += pending.issue_ticks;
  }
  if (seen == 0) return;
  together.gets += gets;
  together.bytes += bytes * gets / seen;
  together.issue += issue * gets / seen;
}

}  // namespace hob::gets
