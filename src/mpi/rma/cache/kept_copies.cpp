// Copies that outlive a collective call, since its members told each other who wrote
// (docs/consistency.md, "What nobody wrote").
#include <mutex>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/cache/tracing.hpp"

namespace hob::mpi {

void CachedGets::watch_writes() {
  const std::lock_guard guard(lock_);
  if (!awake_) wake_up();
  slept_ = unseen_writes_;
}

/// A process that has written so often and fetched nothing sleeps again: it has no copies to keep,
/// and each write costs more while Hob sees it.
void CachedGets::watch_no_more() {
  if (many_threads || tracing) return;
  awake_ = false;
  rest();
}

void CachedGets::tell_writes(std::uint64_t window, validation::Changes& changes, bool watch) {
  const std::lock_guard guard(lock_);
  if (watch && !awake_) {
    wake_up();
    told_unseen_ = true;
  }
  const bool some_target = targets_.spare().tell();
  if (!awake_ || unseen_writes_ || told_unseen_ || some_target) changes.add_all(window);
  told_unseen_ = unseen_writes_;
  targets_.each_used([&](int rank, TargetState& t) {
    if (t.tell()) changes.add(window, rank);
  });
}

bool CachedGets::gains_by_keeping(std::uint64_t cost) {
  const std::lock_guard guard(lock_);
  if (mode() != Mode::automatic || cache_->entries() == 0) return false;
  const std::uint64_t hits = stats_.kept_hits - judged_kept_hits_;
  kept_credit_ -= tuning::kKeepingMargin * static_cast<double>(cost);
  // Between two calls in which nothing was fetched, nothing is learned.
  if (stats_.gets == judged_gets_) return keeping_gains_;
  judged_kept_hits_ = stats_.kept_hits;
  judged_gets_ = stats_.gets;
  const std::uint64_t seen = savings_.typical_trip();
  const double trip = seen != 0 || !ahead_ ? static_cast<double>(seen) : ahead_->cost.latency();
  kept_credit_ = kept_credit_ * tuning::kKeepingMemory + static_cast<double>(hits) * trip;
  keeping_gains_ = hits != 0 && kept_credit_ > 0;
  if (keeping_gains_) {
    keeping_trials_ = 0;
  } else {
    // Whether the same bytes will be asked for again is only known when they are.
    ++keeping_trials_;
    keeping_gains_ =
        keeping_trials_ <= tuning::kKeepingTrials || keeping_trials_ % tuning::kKeepingRetry == 0;
  }
  return keeping_gains_;
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
