// Copies that outlive a collective call, since its members told each other who wrote
// (docs/consistency.md, "What nobody wrote").
#include <mutex>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/cache/tracing.hpp"

namespace hob::mpi {

void CachedGets::track_writes() {
  const std::lock_guard guard(lock_);
  if (wakefulness_.awake()) return;
  wake_up();
  if (!wakefulness_.unseen_writes()) wakefulness_.completed();
}

void CachedGets::tell_writes(std::uint64_t window, validation::Changes& changes) {
  const std::lock_guard guard(lock_);
  if (!wakefulness_.awake() && !left_alone()) wake_up();
  const bool some_target = targets_.spare().tell();
  if (wakefulness_.tell() || some_target) changes.add_all(window);
  targets_.each_used([&](int rank, TargetState& t) {
    if (t.tell()) changes.add(window, rank);
  });
}

void CachedGets::tell_nothing() {
  const std::lock_guard guard(lock_);
  wakefulness_.tell();
  const bool read = stats_.gets != told_gets_;
  told_gets_ = stats_.gets;
  if (wakefulness_.unread(read) && mode() == Mode::automatic && may_rest()) rest_now();
}

bool CachedGets::gains_by_keeping(double cost) {
  const std::lock_guard guard(lock_);
  if (mode() != Mode::automatic || cache_->entries() == 0) return false;
  const std::uint64_t seen = meter_.savings().typical_trip();
  const double trip = seen != 0 || !ahead_ ? static_cast<double>(seen) : ahead_->cost.latency();
  return keeping_.asks(stats_.gets, stats_.kept_hits, trip, cost);
}

void CachedGets::keep_unchanged(std::uint64_t window, const validation::Changes& changes,
                                std::uint64_t before) {
  const std::lock_guard guard(lock_);
  if (mode() != Mode::automatic || !coherence_.applied(before) || cache_->entries() == 0 ||
      changes.may_have_changed(window))
    return;
  std::size_t unchanged = 0;
  targets_.each_used([&](int rank, const TargetState&) {
    if (!changes.may_have_changed(window, rank)) ++unchanged;
  });
  if (unchanged == 0) return;
  targets_.each_used([&](int rank, TargetState& t) {
    if (changes.may_have_changed(window, rank)) drop_copies(rank, t);
  });
  coherence_.pass_over(before);
  kept_at_ = ticks();
  ++stats_.kept;
}

}  // namespace hob::mpi
