#include "mpi/rma/cache/write_reports.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/cache/entered.hpp"

namespace hob::mpi {

void WriteReports::expect(const ExposedSizes& exposed, bool from_the_start) {
  const Entered guard(parts_.lock, parts_.hot);
  parts_.kept.expect(exposed.sizes());
  if (!from_the_start || parts_.tracking.is_on()) return;
  parts_.owner.turn_tracking_on();
  if (!parts_.tracking.unseen_writes()) parts_.tracking.completed();
}

void WriteReports::notify(std::uint64_t window, validation::Changes& changes) {
  const Entered guard(parts_.lock, parts_.hot);
  if (!parts_.tracking.is_on() && !parts_.tracking.is_off_for_good())
    parts_.owner.turn_tracking_on();
  const bool some_target = parts_.targets.spare().notify();
  if (parts_.tracking.notify() || some_target) changes.add_all(window);
  if (parts_.own_rank.marks.notify()) changes.add(window, rank_);
  parts_.targets.each_used([&](int rank, TargetState& t) {
    if (t.notify()) changes.add(window, rank);
  });
}

void WriteReports::notify_nothing() {
  const Entered guard(parts_.lock, parts_.hot);
  parts_.tracking.notify();
  if (parts_.tracking.unread(parts_.kept.read_since(parts_.stats.gets)) &&
      parts_.coherence.mode() == Mode::automatic)
    parts_.owner.try_turn_tracking_off();
}

/// Ticks that the members take to protect their pages: the largest window that this process reads
/// says how long that is.
double WriteReports::cost_to_begin() const {
  std::uint64_t most = 0;
  parts_.targets.each_used(
      [&](int rank, TargetState&) { most = std::max(most, parts_.kept.exposed(rank)); });
  if (most <= tuning::gets::kProtectedAtOnce) return 0;
  return static_cast<double>(most) * tuning::gets::kProtectNsPerByte * ticks_per_nanosecond();
}

/// Whether bytes came again that would have been there, had nothing been dropped.
bool WriteReports::reused() const {
  const cache::Stats& stats = parts_.cache.stats();
  return stats.hits_full > stats.ahead_hits || parts_.stats.recalled != 0;
}

bool WriteReports::gains_by_keeping(double cost) {
  const Entered guard(parts_.lock, parts_.hot);
  if (parts_.coherence.mode() != Mode::automatic || parts_.cache.entries() == 0) return false;
  return parts_.kept.gains({.gets = parts_.stats.gets,
                            .kept_hits = parts_.stats.kept_hits,
                            .trip = parts_.owner.typical_trip(),
                            .cost = cost,
                            .now = ticks(),
                            .begin = parts_.kept.tried() ? 0 : cost_to_begin(),
                            .reused = reused()});
}

bool WriteReports::wants_edges(bool always) {
  const Entered guard(parts_.lock, parts_.hot);
  return parts_.kept.wants_edges(parts_.targets, always);
}

void WriteReports::keep_unchanged(std::uint64_t window, const validation::Changes& changes,
                                  std::span<const validation::ShownEdges> shown,
                                  std::uint64_t before) {
  using Outcome = gets::KeptCopies::Outcome;
  const Entered guard(parts_.lock, parts_.hot);
  Coherence& coherence = parts_.coherence;
  if (coherence.mode() != Mode::automatic || !coherence.applied(before) ||
      parts_.cache.entries() == 0)
    return;
  const Outcome outcome =
      parts_.kept.keep({window, changes, shown}, parts_.targets, parts_.owner, ticks());
  if (outcome == Outcome::nothing) return;
  if (outcome == Outcome::kept_in_part) parts_.owner.phase_ended();
  coherence.pass_over(before);
  ++parts_.stats.kept;
}

}  // namespace hob::mpi
