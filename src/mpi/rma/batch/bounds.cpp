// How many issued operations the library may hold, and how much memory Hob keeps for them.
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

#include "mpi/core/tuning.hpp"
#include "mpi/rma/batch/batching.hpp"

namespace hob::mpi {

/// Whether the library holds more operations to a target than it may, or Hob more memory for those
/// that it has. Whose memory is completed with it: all targets', where no other thread ends their
/// epochs meanwhile.
bool Batching::too_much(const BatchTarget& t) const {
  if (options_.outstanding != 0 && t.outstanding > options_.outstanding) return true;
  return (reaches_all() ? held_ : t.held) > tuning::batching::kMostHeld;
}

/// After each operation: has keep_bounds() called, where a flush is allowed.
void Batching::ask_for_completion(const BatchTarget& t) {
  if (HOB_UNLIKELY(too_much(t)) && is_locked(t)) batched_gets_.full.set(true);
}

void Batching::keep_bounds(int target) {
  // The caller holds a lock: it comes again without it.
  if (!batched_gets_.full.get() || (many_threads && depth >= kExclusive)) return;
  if (sample_.issued) return complete_sample();
  std::vector<int> full;
  {
    const std::lock_guard guard(lock_);
    batched_gets_.full.set(false);
    const bool all = reaches_all() && held_ > tuning::batching::kMostHeld;
    try {
      for (const auto& [rank, t] : targets_)
        if (is_locked(t) && ((rank == target && too_much(t)) || (all && !t.sent.empty())))
          full.push_back(rank);
    } catch (const std::bad_alloc&) {
      // The next operation comes here, too.
    }
  }
  for (const int rank : full) complete_for_bound(rank);
}

void Batching::complete_for_bound(int target) {
  std::uint64_t last = 0;
  {
    const std::lock_guard guard(lock_);
    send_all_of(targets_.at(target), target);
    last = sent_;
  }
  const int result = next_.synchronise(rma::Sync::flush(target));
  const std::lock_guard guard(lock_);
  BatchTarget& t = targets_.at(target);
  if (result != MPI_SUCCESS) {
    t.error = result;
    return;
  }
  ++stats_.completions;
  finish(t, last, true);
  // The program may complete its operations by their requests alone.
  if (options_.outstanding != 0 && t.bursts[kGets].length() >= options_.outstanding) {
    t.bursts[kGets].complete();
    account(0, false);
  }
}

}  // namespace hob::mpi
