// Calls on windows that are only counted while tracking is off: writes, atomics whose results are
// expected already, and gets of windows that are not cached for good.
#pragma once

#include <cstdint>

#include "mpi/core/handle.hpp"
#include "mpi/core/state.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/backend/outstanding.hpp"
#include "mpi/rma/state.hpp"

namespace hob::mpi {

inline UntrackedWindow& untracked_slot(MPI_Win window) {
  return untracked_windows[handle_hash(handle_bits(window), kUntrackedWindowBits)];
}

/// Counts the call and says so, if it is one that is only counted now.
inline bool only_counted(MPI_Win window, std::uint64_t* UntrackedWindow::*which) {
  if (!tracking_off()) return false;
  const UntrackedWindow& slot = untracked_slot(window);
  if (slot.window != window || !(slot.*which)) return false;
  ++*(slot.*which);
  return true;
}

/// The same, of a fetching atomic. Its result may arrive after tracking has resumed, and depend on
/// others' writes: so the hook records it, unless it has recorded an earlier one to that target
/// that no call has completed since.
inline bool only_counted_atomic(MPI_Win window, int target) {
  if (!tracking_off()) return false;
  const UntrackedWindow& slot = untracked_slot(window);
  if (slot.window != window || !slot.results || !slot.results->covers(target)) return false;
  ++*slot.atomics;
  return true;
}

/// The same, of a get.
inline bool only_counted_get(MPI_Win window, int target) {
  if (!tracking_off()) return false;
  const UntrackedWindow& slot = untracked_slot(window);
  if (slot.window != window) return false;
  std::uint64_t* const which = target == slot.own_rank ? slot.own_gets : slot.gets;
  if (!which) return false;
  ++*which;
  return true;
}

/// One that was counted makes a request.
inline bool only_counted_request(MPI_Win window, bool counted) {
  if (counted) ++*untracked_slot(window).requested;
  return counted;
}

}  // namespace hob::mpi
