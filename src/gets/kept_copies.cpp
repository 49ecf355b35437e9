#include "gets/kept_copies.hpp"

#include <cstddef>

namespace hob::gets {

bool KeptCopies::wants_edges(TargetTable& targets, bool always) const {
  if (!always && !pacing_.due()) return false;
  bool fetched = false;
  targets.each_used(
      [&](int, const TargetState& target) { fetched = fetched || target.edges_fetched != 0; });
  return fetched;
}

/// The copies of a target's edges are in doubt: those that are not what the target shows end. They
/// do not become it, since another thread may have fetched newer bytes after the target's report.
void KeptCopies::settle_edges(int rank, TargetState& target, const validation::ShownEdges* shown,
                              Dropper& dropper) {
  const auto number = static_cast<std::uint32_t>(rank);
  if (shown) {
    cache_.drop_differing(number, 0, shown->data.data(), shown->head);
    cache_.drop_differing(number, shown->bytes - shown->tail, shown->tail_data(), shown->tail);
    return;
  }
  const std::uint64_t bytes = exposed_->of(rank);
  if (bytes <= 2 * validation::kEdgeBytes) return dropper.drop_copies(rank, target);
  dropper.drop_bytes(rank, 0, validation::kEdgeBytes);
  dropper.drop_bytes(rank, bytes - validation::kEdgeBytes, validation::kEdgeBytes);
}

KeptCopies::Outcome KeptCopies::keep(const Report& report, TargetTable& targets, Dropper& dropper,
                                     std::uint64_t now) {
  const std::uint64_t window = report.window;
  const validation::Changes& changes = report.changes;
  const std::span<const validation::ShownEdges> shown = report.shown;
  const auto nothing = [&] {
    gain_.all_dropped();
    return Outcome::nothing;
  };
  if (changes.may_have_changed(window)) return nothing();
  std::size_t unchanged = 0;
  targets.each_used([&](int rank, const TargetState&) {
    if (!changes.may_have_changed(window, rank)) ++unchanged;
  });
  if (unchanged == 0) return nothing();
  const bool doubted = changes.edges_doubted(window);
  bool fetched = false, dropped = false;
  targets.each_used([&](int rank, TargetState& target) {
    if (changes.may_have_changed(window, rank)) {
      dropper.drop_copies(rank, target);
      dropped = true;
    } else if (doubted && target.edges_fetched != 0) {
      fetched = true;
      const auto its = std::find_if(shown.begin(), shown.end(), [&](const auto& each) {
        return each.window == window && each.rank == rank;
      });
      settle_edges(rank, target, its != shown.end() ? &*its : nullptr, dropper);
    }
    // What is under way may be read after this call, and what is here may have been read after the
    // target's report.
    if (doubted || target.edges_fetched == 0)
      target.edges_fetched = target.edges_fetched != 0 && !target.pending.empty() ? 2 : 0;
    else if (target.pending.empty())
      --target.edges_fetched;
  });
  if (doubted) pacing_.notified(fetched, !shown.empty());
  at_ = now;
  return dropped ? Outcome::kept_in_part : Outcome::kept;
}

}  // namespace hob::gets
