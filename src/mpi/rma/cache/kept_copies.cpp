// Copies that outlive a collective call, since its members report who wrote
// (docs/consistency.md, "What no process wrote").
#include <mutex>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/cache/tracing.hpp"

namespace hob::mpi {

void CachedGets::expect_kept(const ExposedSizes& exposed, bool from_the_start) {
  const Entered guard(lock_, hot_);
  kept_.expect(exposed.sizes());
  if (!from_the_start || tracking_.is_on()) return;
  turn_tracking_on();
  if (!tracking_.unseen_writes()) tracking_.completed();
}

void CachedGets::notify_writes(std::uint64_t window, validation::Changes& changes) {
  const Entered guard(lock_, hot_);
  if (!tracking_.is_on() && !tracking_off_for_good()) turn_tracking_on();
  const bool some_target = targets_.spare().notify();
  if (tracking_.notify() || some_target) changes.add_all(window);
  if (own_rank_.marks.notify()) changes.add(window, window_.rank);
  targets_.each_used([&](int rank, TargetState& t) {
    if (t.notify()) changes.add(window, rank);
  });
}

void CachedGets::notify_nothing() {
  const Entered guard(lock_, hot_);
  tracking_.notify();
  if (tracking_.unread(kept_.read_since(stats_.gets)) && mode() == Mode::automatic &&
      may_turn_tracking_off())
    turn_tracking_off();
}

bool CachedGets::gains_by_keeping(double cost) {
  const Entered guard(lock_, hot_);
  if (mode() != Mode::automatic || cache_->entries() == 0) return false;
  const std::uint64_t seen = learning_.typical_trip();
  const double trip = seen != 0 || !ahead_ ? static_cast<double>(seen) : ahead_->cost.latency();
  return kept_.gains(stats_.gets, stats_.kept_hits, trip, cost);
}

bool CachedGets::wants_edges(bool always) {
  const Entered guard(lock_, hot_);
  return kept_.wants_edges(targets_, always);
}

void CachedGets::keep_unchanged(std::uint64_t window, const validation::Changes& changes,
                                std::span<const validation::ShownEdges> shown,
                                std::uint64_t before) {
  using Outcome = gets::KeptCopies::Outcome;
  const Entered guard(lock_, hot_);
  if (mode() != Mode::automatic || !coherence_.applied(before) || cache_->entries() == 0) return;
  const Outcome outcome = kept_.keep({window, changes, shown}, targets_, *this, ticks());
  if (outcome == Outcome::nothing) return;
  if (outcome == Outcome::kept_in_part) phase_ended();
  coherence_.pass_over(before);
  ++stats_.kept;
}

}  // namespace hob::mpi
