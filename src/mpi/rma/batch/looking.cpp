// What operations take natively that would go out in a batch: now and then a burst begins so, and
// Hob completes its first operations.
#include <mutex>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/batch/batching.hpp"
#include "mpi/rma/batch/state.hpp"

namespace hob::mpi {

/// The first operation of a burst. Nothing else may be under way, and a flush must be allowed.
void Batching::begin_look(BatchTarget& t, const SmallOperation& op) {
  look_ = {};
  if (!options_.looks || many_threads || op.requested || !is_locked(t) || !t.sent.empty() ||
      open_.get() != 0)
    return;
  for (const Interval& each : interval_)
    if (each.operations != 0) return;
  const double lived = 1e9 * (seconds_since_epoch() - context().started);
  look_ = {.target = op.target, .kind = op.kind, .on = look_budget.allows(ticks_in(lived))};
}

/// An operation of it was issued: after enough of them, has keep_bounds() called.
void Batching::look_on(BatchTarget& t, const SmallOperation& op) {
  if (t.bursts[slot_of(op.kind)].length() < tuning::batching::kLeast) return;
  std::uint64_t all = 0;
  for (const Interval& each : interval_) all += each.operations;
  const Interval& its = interval_[static_cast<std::size_t>(op.kind)];
  look_.on = false;
  look_.issued = its.timed == tuning::batching::kLeast && its.timed == all && its.requested == 0 &&
                 t.issue[slot_of(op.kind)] >= ticks_in(tuning::batching::kCheapNs);
  if (look_.issued) batched_gets_.full.set(true);
}

void Batching::complete_look() {
  {
    const std::lock_guard guard(lock_);
    batched_gets_.full.set(false);
    look_.issued = false;
  }
  const std::uint64_t start = ticks();
  const int result = next_->flush(look_.target);
  const std::uint64_t waited = ticks() - start;
  const std::lock_guard guard(lock_);
  BatchTarget& t = targets_.at(look_.target);
  if (result != MPI_SUCCESS) {
    t.error = result;
    return;
  }
  t.outstanding = 0;
  Interval& its = interval_[static_cast<std::size_t>(look_.kind)];
  look_budget.spend(its.ticks + waited);
  savings_[static_cast<std::size_t>(look_.kind)].natively(its.operations, its.ticks + waited);
  its = {};
}

}  // namespace hob::mpi
