// What operations take natively that would go out in a batch: now and then a burst begins so, and
// Hob completes its first operations.
#include <algorithm>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/batch/batching.hpp"
#include "mpi/rma/batch/state.hpp"

namespace hob::mpi {

/// With several threads, others issue and complete operations meanwhile.
bool Batching::takes_samples() const {
  return options_.samples && !options_.forced && !many_threads;
}

bool Batching::may_sample() const {
  return all_batches.sample_budget.allows(
      ticks_in(1e9 * (seconds_since_epoch() - context().started)));
}

void Batching::learn_native(BatchKind kind, std::uint64_t operations, std::uint64_t ticks) {
  batch::Saving& saving = savings_[static_cast<std::size_t>(kind)];
  saving.natively(operations, ticks);
  if (kind == BatchKind::get) batched_gets_.native_ticks_each.set(saving.native_price());
}

/// The first operation of a burst. Nothing else may be under way, and a flush must be allowed.
void Batching::begin_sample(BatchTarget& t, const SmallOperation& op) {
  if (!takes_samples()) return;
  sample_ = {};
  if (op.requested || !is_locked(t) || !t.sent.empty() || open_.get() != 0) return;
  for (const Interval& each : interval_)
    if (each.operations != 0) return;
  sample_ = {.target = op.target, .kind = op.kind, .on = may_sample()};
}

/// An operation of it was issued: after enough of them, has keep_bounds() called.
void Batching::continue_sample(BatchTarget& t, const SmallOperation& op) {
  if (t.bursts[slot_of(op.kind)].length() < tuning::batching::kLeast) return;
  std::uint64_t all = 0;
  for (const Interval& each : interval_) all += each.operations;
  const Interval& its = interval_[static_cast<std::size_t>(op.kind)];
  sample_.on = false;
  sample_.issued = its.timed == tuning::batching::kLeast && its.timed == all &&
                   its.requested == 0 &&
                   t.issue[slot_of(op.kind)] >= ticks_in(tuning::batching::kCheapNs);
  if (sample_.issued) batched_gets_.full.set(true);
}

void Batching::complete_sample() {
  {
    const std::lock_guard guard(lock_);
    batched_gets_.full.set(false);
    sample_.issued = false;
  }
  const std::uint64_t start = ticks();
  const int result = next_.synchronise(rma::Sync::flush(sample_.target));
  const std::uint64_t waited = ticks() - start;
  const std::lock_guard guard(lock_);
  BatchTarget& t = targets_.at(sample_.target);
  if (result != MPI_SUCCESS) {
    t.error = result;
    return;
  }
  t.outstanding = 0;
  Interval& its = interval_[static_cast<std::size_t>(sample_.kind)];
  all_batches.sample_budget.spend(its.ticks + waited);
  learn_native(sample_.kind, its.operations, its.ticks + waited);
  its = {};
}

/// Whether some operations of a batch that is the only one may go out one by one, and it is not
/// known yet what that takes.
bool Batching::is_worth_a_sample(const BatchTarget& t, const OpenBatch& open, int target) const {
  if (!open.buffer || open.lowest_low != 0 || t.error != MPI_SUCCESS ||
      (open.kind != BatchKind::put && open.kind != BatchKind::accumulate) ||
      open.buffer->operations() < tuning::batching::kLeast)
    return false;
  const auto kind = static_cast<std::size_t>(open.kind);
  const auto unit = static_cast<std::uint64_t>(units_.of(target));
  return savings_[kind].native_price() == 0 && interval_[kind].requested == 0 && unit != 0 &&
         std::all_of(open.buffer->begins().begin(), open.buffer->begins().end(),
                     [unit](std::uint64_t begin) { return begin % unit == 0; });
}

/// The program flushes, so that Hob may, too. A program that flushes once has no burst that could
/// begin natively: the first operations of its last batch go out natively, once all that
/// went out before are complete.
void Batching::sample_in_flush(int target) {
  if (HOB_LIKELY(!tracking_.get() || open_.get() != 1) || !takes_samples()) return;
  BatchTarget* const found = at(target);
  if (!found) return;
  BatchTarget& t = *found;
  OpenBatch& open = t.open[t.open[kPuts].buffer ? kPuts : kAtomics];
  if (!is_worth_a_sample(t, open, target) || !may_sample()) return;
  std::uint64_t start = ticks();
  if (next_.synchronise(rma::Sync::flush(target)) != MPI_SUCCESS)
    return;  // the program's own flush reports it
  finish(t, sent_, true);
  interval_[static_cast<std::size_t>(open.kind)].ticks += ticks() - start;
  try {
    std::unique_ptr<batch::OperationBuffer> first = pool_.buffer(), rest = pool_.buffer();
    batch::OperationBuffer& all = *open.buffer;
    const std::size_t natively =
        std::min<std::size_t>(tuning::batching::kLeast, all.operations() / 2);
    for (std::uint32_t i = 0; i < all.operations(); ++i)
      (i < natively ? *first : *rest)
          .add(all.begins()[i], all.length_of(i), all.place_of(i), all.data_of(i));
    t.sent.emplace_back();
    t.sent.back().number = ++sent_;
    waiting_ -= first->bytes() + first->operations() * tuning::batching::kBytesOfOperation;
    t.sent.back().buffer = std::move(first);
    std::swap(open.buffer, rest);
    pool_.give_back(std::move(rest));
  } catch (const std::bad_alloc&) {
    return;
  }
  t.alike.joins = false;
  const std::uint64_t operations = t.sent.back().buffer->operations();
  start = ticks();
  int result = issue_singly(open, t.sent.back(), target);
  if (result == MPI_SUCCESS) result = next_.synchronise(rma::Sync::flush(target));
  const std::uint64_t spent = ticks() - start;
  if (result != MPI_SUCCESS) {
    t.error = result;
    return;
  }
  finish(t, sent_, true);
  all_batches.sample_budget.spend(spent);
  learn_native(open.kind, operations, spent);
}

}  // namespace hob::mpi
