// Calls on windows that are only counted while tracking is off: writes, atomics whose results are
// expected already, and gets of windows that are not cached for good.
#pragma once

#include <cstdint>

#include "mpi/core/state.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/backend/outstanding.hpp"
#include "mpi/rma/state.hpp"

namespace hob::mpi {

/// untracked(), for calls that wait for targets.
inline bool untracked_untimed() {
  if (!tracking_off()) return pass_through();
  if (HOB_LIKELY(all_windows.timed.passes())) return true;
  all_windows.timed.restart();
  return pass_through();
}

/// Counts the call and says so, if it is one that is only counted now. Tracking is off, and `slot`
/// is the window's or another one's.
inline bool counted(const UntrackedWindow& slot, MPI_Win window,
                    std::uint64_t* UntrackedWindow::*which) {
  if (slot.window != window) return false;
  ++*(slot.*which);
  return true;
}

/// The same, of a fetching atomic. Its result may arrive after tracking has resumed, and depend on
/// others' writes: so the hook records it, unless it has recorded an earlier one to that target
/// that no call has completed since.
inline bool counted_atomic(const UntrackedWindow& slot, MPI_Win window, int target) {
  if (slot.window != window || !slot.results || !slot.results->covers(target)) return false;
  ++*slot.atomics;
  return true;
}

/// The same, of a get.
inline bool counted_get(const UntrackedWindow& slot, MPI_Win window, int target) {
  if (slot.window != window) return false;
  std::uint64_t* const which = target == slot.own_rank ? slot.own_gets : slot.gets;
  if (!which) return false;
  ++*which;
  return true;
}

/// The same of one that makes a request, and was `counted` otherwise.
inline bool counted_request(const UntrackedWindow& slot, bool counted) {
  if (counted) ++*slot.requested;
  return counted;
}

}  // namespace hob::mpi
