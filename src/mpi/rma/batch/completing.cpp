// The calls that complete operations, and what of the batches is complete after them.
#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/batch/batching.hpp"

namespace hob::mpi {

/// Batches up to number `last` are complete, if the completing call `succeeded`: else the
/// library may still use their memory.
void Batching::finish(BatchTarget& t, std::uint64_t last, bool succeeded) {
  if (!succeeded) return;
  std::size_t kept = 0;
  for (SentBatch& sent : t.sent) {
    if (sent.number > last) {
      if (&t.sent[kept] != &sent) t.sent[kept] = std::move(sent);
      ++kept;
      continue;
    }
    if (sent.delivers) sent.buffer->deliver();
    all_arrived(sent.requested, sent.error);
    t.held -= sent.held;
    held_ -= sent.held;
    pool_.give_back(std::move(sent.buffer));
  }
  t.sent.resize(kept);
  t.outstanding = 0;
}

/// A call that completes operations at a target, sent up to number `last`, has returned. The error
/// that was kept for it.
Batching::KeptError Batching::settle(BatchTarget& t, std::uint64_t last, bool succeeded) {
  finish(t, last, succeeded);
  t.brings = false;
  t.clean = succeeded && !many_threads;
  for (batch::Burst& burst : t.bursts) burst.complete();
  return {std::exchange(t.error, MPI_SUCCESS), std::exchange(t.unreported, false)};
}

/// The operations since the last completion are complete, which took `waited`.
void Batching::account(std::uint64_t waited, bool timed) {
  constexpr std::uint64_t kMost = 8;  // all but an eighth
  std::uint64_t all = 0, batched = 0;
  for (const Interval& each : interval_) {
    all += each.operations;
    batched += each.batched;
  }
  if (all == 0) return;
  const Interval& gets = interval_[static_cast<std::size_t>(BatchKind::get)];
  if (gets.operations != 0 && gets.batched == 0) batched_gets_.batched.set(false);
  for (std::size_t kind = 0; kind < kBatchKinds; ++kind) {
    Interval& each = interval_[kind];
    const bool alone = each.operations * kMost >= all * (kMost - 1);
    if (alone && each.operations >= tuning::batching::kLeast && !options_.forced) {
      const bool in_batches = each.batched * kMost >= each.operations * (kMost - 1);
      const std::uint64_t batching = ticks_in(each.batched * tuning::batching::kBatchingNs);
      // With requests, waits are elsewhere: all that passed counts, in batches and without.
      const std::uint64_t spent = each.requested != 0
                                      ? ticks() - each.requested
                                      : each.ticks + batching + (timed ? waited : 0);
      if (in_batches)
        trials_[kind].complete(true, each.operations, spent);
      else if (each.batched == 0)
        trials_[kind].complete(false, each.operations, each.timed == each.operations ? spent : 0);
      if (in_batches)
        savings_[kind].in_batches(each.operations, spent);
      else if (each.batched == 0 && each.timed == each.operations)
        learn_native(static_cast<BatchKind>(kind), each.operations, spent);
    }
    savings_[kind].batched(each.batched);
    each = {};
  }
  batched_gets_.ticks_each.set(trials_[static_cast<std::size_t>(BatchKind::get)].batch_price());
  if (batched != 0) {
    idle_intervals_ = 0;
    next_retry_.reset();
  } else if (++idle_intervals_ >= tuning::batching::kIdleIntervals) {
    idle_intervals_ = 0;
    stop_tracking();
  }
}

bool Batching::any_brings(const BatchTarget& t) {
  return std::any_of(t.sent.begin(), t.sent.end(),
                     [](const SentBatch& sent) { return sent.brings; });
}

bool Batching::only_writes(const BatchTarget& t) {
  constexpr std::size_t kMostSent = 16;  // beyond, their memory is wanted back
  const OpenBatch& atomics = t.open[kAtomics];
  return t.sent.size() <= kMostSent && !t.brings && t.error == MPI_SUCCESS &&
         !t.open[kGets].buffer && !(atomics.buffer && atomics.kind == BatchKind::fetch) &&
         !any_brings(t);
}

/// A local flush where only_writes(): what a batch sends was copied, so that nothing need be sent
/// for it, and the library is asked only where it has buffers of the program's. The operations go
/// on being one burst until they are complete at the target. Others' operations on this process may
/// need it in the library now and then.
int Batching::free_buffers(BatchTarget& t, const rma::Sync& sync) {
  const std::uint64_t start = ticks();
  if (!options_.forced) send_old(t, sync.target, start);
  if (t.clean && start - entered_ < ticks_in(options_.progress_ns)) return MPI_SUCCESS;
  const int result = next_.synchronise(sync);
  entered_ = ticks();
  const std::uint64_t waited = entered_ - start;
  if (result != MPI_SUCCESS) return result;
  t.clean = true;
  const bool puts = interval_[static_cast<std::size_t>(BatchKind::put)].operations != 0;
  interval_[static_cast<std::size_t>(puts ? BatchKind::put : BatchKind::accumulate)].ticks +=
      waited;
  return result;
}

/// A flush or an unlock of one target.
int Batching::complete_one(const rma::Sync& sync) {
  const int target = sync.target;
  // Operations on the own rank are neither batched nor seen (Window::way_to()).
  if (HOB_LIKELY(!tracking_.get()) || target == window_.rank) return next_.synchronise(sync);
  bool local = sync.local;
  std::uint64_t last = 0;
  {
    const std::lock_guard guard(lock_);
    if (BatchTarget* const t = at(target)) {
      if (local && !many_threads && only_writes(*t)) return free_buffers(*t, sync);
      send_all_of(*t, target);
      // The library's local completion need not mean that what a get brings is there.
      local = local && !any_brings(*t);
    }
    last = sent_;
  }
  const std::uint64_t start = ticks();
  int result = next_.synchronise(sync.with_local(local));
  const std::uint64_t waited = ticks() - start;
  bool unreported = false;
  {
    const std::lock_guard guard(lock_);
    if (BatchTarget* const t = at(target)) {
      const KeptError kept = settle(*t, last, result == MPI_SUCCESS);
      unreported = kept.unreported && result == MPI_SUCCESS;
      if (result == MPI_SUCCESS) result = kept.error;
    }
    account(waited, true);
  }
  return HOB_UNLIKELY(unreported) ? report_error(result) : result;
}

/// The library's flush of all targets, after one of each whose batches bring something: MPICH 4
/// returns from MPI_Win_flush_all before operations with indexed types are complete.
int Batching::flush_each_and_all() {
  std::vector<int> targets;
  {
    const std::lock_guard guard(lock_);
    for (const auto& [target, t] : targets_)
      if (any_brings(t)) targets.push_back(target);
  }
  for (const int target : targets)
    if (const int error = next_.synchronise(rma::Sync::flush(target)); error != MPI_SUCCESS)
      return error;
  return next_.synchronise(rma::Sync::flush_all());
}

/// A call that completes the operations to all targets.
int Batching::complete_all(const rma::Sync& sync) {
  using Kind = rma::Sync::Kind;
  if (HOB_LIKELY(!tracking_.get())) return next_.synchronise(sync);
  bool local = sync.local;
  std::uint64_t last = 0;
  {
    const std::lock_guard guard(lock_);
    send_everything();
    for (const auto& [_, t] : targets_) local = local && !any_brings(t);
    last = sent_;
  }
  const std::uint64_t start = ticks();
  int result = sync.kind == Kind::flush && !local ? flush_each_and_all() : next_.synchronise(sync);
  const std::uint64_t waited = ticks() - start;
  bool unreported = false;
  {
    const std::lock_guard guard(lock_);
    int error = MPI_SUCCESS;
    for (auto& [_, t] : targets_) {
      const KeptError its = settle(t, last, result == MPI_SUCCESS);
      if (error != MPI_SUCCESS) continue;
      error = its.error;
      unreported = its.unreported;
    }
    unreported = unreported && result == MPI_SUCCESS;
    if (result == MPI_SUCCESS) result = error;
    // Fences and MPI_Win_complete wait for other processes, too.
    account(waited, sync.kind == Kind::flush || sync.kind == Kind::unlock);
  }
  return HOB_UNLIKELY(unreported) ? report_error(result) : result;
}

/// After a lock of the program, or a flush, which is allowed only where the target is locked,
/// whether that was seen or not.
int Batching::shows_lock(int target, int result) {
  if (result != MPI_SUCCESS || !tracking_.get()) return result;
  const std::lock_guard guard(lock_);
  if (BatchTarget* const t = at(target)) {
    t->epoch = epoch_;
    t->locked = true;
  }
  return result;
}

int Batching::unlock(const rma::Sync& sync) {
  const int result = complete_one(sync);
  if (!tracking_.get()) return result;
  const std::lock_guard guard(lock_);
  if (BatchTarget* const t = at(sync.target)) t->epoch = 0;
  return result;
}

int Batching::lock_all(const rma::Sync& sync) {
  const int result = next_.synchronise(sync);
  if (result != MPI_SUCCESS || !tracking_.get()) return result;
  const std::lock_guard guard(lock_);
  ++epoch_;
  all_locked_ = true;
  return result;
}

int Batching::synchronise(const rma::Sync& sync) {
  using Kind = rma::Sync::Kind;
  int result = MPI_SUCCESS;
  switch (sync.kind) {
    case Kind::flush:
      if (sync.all) return complete_all(sync);
      if (!sync.local) sample_in_flush(sync.target);
      return shows_lock(sync.target, complete_one(sync));
    case Kind::lock:
      if (sync.all) return lock_all(sync);
      return shows_lock(sync.target, next_.synchronise(sync));
    case Kind::unlock:
      if (!sync.all) return unlock(sync);
      [[fallthrough]];
    case Kind::fence:
    case Kind::complete:
      result = complete_all(sync);
      break;
    case Kind::start:
      result = next_.synchronise(sync);
      break;
    case Kind::post:
    case Kind::wait:
    case Kind::test:
    case Kind::sync:
      send_waiting(true);
      return next_.synchronise(sync);
  }
  const std::lock_guard guard(lock_);
  ++epoch_;
  if (sync.kind == Kind::unlock) all_locked_ = false;
  return result;
}

void Batching::closing() {
  send_waiting(true);
  next_.closing();
}

}  // namespace hob::mpi
