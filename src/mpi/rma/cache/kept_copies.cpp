// Copies that outlive a collective call, since its members told each other who wrote
// (docs/consistency.md, "What no process wrote").
#include <algorithm>
#include <mutex>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/cache/tracing.hpp"

namespace hob::mpi {

void CachedGets::expect_kept(const ExposedSizes& exposed, bool from_the_start) {
  const Entered guard(*this);
  exposed_ = exposed;
  if (!from_the_start || wakefulness_.awake()) return;
  wake_up();
  if (!wakefulness_.unseen_writes()) wakefulness_.completed();
}

void CachedGets::tell_writes(std::uint64_t window, validation::Changes& changes) {
  const Entered guard(*this);
  if (!wakefulness_.awake() && !left_alone()) wake_up();
  const bool some_target = targets_.spare().tell();
  if (wakefulness_.tell() || some_target) changes.add_all(window);
  targets_.each_used([&](int rank, TargetState& t) {
    if (t.tell()) changes.add(window, rank);
  });
}

void CachedGets::tell_nothing() {
  const Entered guard(*this);
  wakefulness_.tell();
  const bool read = stats_.gets != told_gets_;
  told_gets_ = stats_.gets;
  if (wakefulness_.unread(read) && mode() == Mode::automatic && may_rest()) rest_now();
}

bool CachedGets::gains_by_keeping(double cost) {
  const Entered guard(*this);
  if (mode() != Mode::automatic || cache_->entries() == 0) return false;
  const std::uint64_t seen = meter_.savings().typical_trip();
  const double trip = seen != 0 || !ahead_ ? static_cast<double>(seen) : ahead_->cost.latency();
  return keeping_.asks(stats_.gets, stats_.kept_hits, trip, cost);
}

bool CachedGets::wants_edges(bool always) {
  const Entered guard(*this);
  if (!always && !edge_pacing_.due()) return false;
  bool fetched = false;
  targets_.each_used([&](int, const TargetState& t) { fetched = fetched || t.edges_fetched != 0; });
  return fetched;
}

/// The copies of a target's edges are in doubt: those that are not what the target shows end. They
/// do not become it, since another thread may have fetched newer bytes after the target told.
void CachedGets::settle_edges(int rank, const validation::ShownEdges* shown) {
  const auto number = static_cast<std::uint32_t>(rank);
  if (shown) {
    cache_->drop_differing(number, 0, shown->data.data(), shown->head);
    cache_->drop_differing(number, shown->bytes - shown->tail, shown->tail_data(), shown->tail);
    return;
  }
  const std::uint64_t bytes = exposed_->of(rank);
  if (bytes <= 2 * validation::kEdgeBytes) return drop_copies(rank, targets_.used(rank));
  drop_bytes(rank, 0, validation::kEdgeBytes);
  drop_bytes(rank, bytes - validation::kEdgeBytes, validation::kEdgeBytes);
}

void CachedGets::keep_unchanged(std::uint64_t window, const validation::Changes& changes,
                                std::span<const validation::ShownEdges> shown,
                                std::uint64_t before) {
  const Entered guard(*this);
  if (mode() != Mode::automatic || !coherence_.applied(before) || cache_->entries() == 0 ||
      changes.may_have_changed(window))
    return;
  std::size_t unchanged = 0;
  targets_.each_used([&](int rank, const TargetState&) {
    if (!changes.may_have_changed(window, rank)) ++unchanged;
  });
  if (unchanged == 0) return;
  const bool doubted = changes.edges_doubted(window);
  bool fetched = false, dropped = false;
  targets_.each_used([&](int rank, TargetState& t) {
    if (changes.may_have_changed(window, rank)) {
      drop_copies(rank, t);
      dropped = true;
    } else if (doubted && t.edges_fetched != 0) {
      fetched = true;
      const auto its = std::find_if(shown.begin(), shown.end(), [&](const auto& each) {
        return each.window == window && each.rank == rank;
      });
      settle_edges(rank, its != shown.end() ? &*its : nullptr);
    }
    // What is under way may be read after this call, and what is here may have been read after the
    // target told in it.
    if (doubted || t.edges_fetched == 0)
      t.edges_fetched = t.edges_fetched != 0 && !t.pending.empty() ? 2 : 0;
    else if (t.pending.empty())
      --t.edges_fetched;
  });
  if (dropped) phase_ended();
  if (doubted) edge_pacing_.told(fetched, !shown.empty());
  coherence_.pass_over(before);
  kept_at_ = ticks();
  ++stats_.kept;
}

}  // namespace hob::mpi
