// Calls on windows that are only counted while Hob sleeps: writes, atomics whose results are
// expected already, and gets of windows that it leaves alone for good.
#pragma once

#include <cstdint>

#include "mpi/core/handle.hpp"
#include "mpi/core/state.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/backend/outstanding.hpp"
#include "mpi/rma/state.hpp"

namespace hob::mpi {

inline QuietWindow& quiet_slot(MPI_Win window) {
  return quiet_windows[handle_hash(handle_bits(window), kQuietWindowBits)];
}

/// Counts the call and says so, if it is one that is only counted now.
inline bool only_counted(MPI_Win window, std::uint64_t* QuietWindow::*which) {
  if (!sleeping()) return false;
  const QuietWindow& slot = quiet_slot(window);
  if (slot.window != window || !(slot.*which)) return false;
  ++*(slot.*which);
  return true;
}

/// The same, of a fetching atomic. Its result may tell of others' writes when it arrives, which may
/// be after Hob has woken up: so it is noted by the hook, unless an earlier one to that target was,
/// and nothing that was seen has completed it since.
inline bool only_counted_atomic(MPI_Win window, int target) {
  if (!sleeping()) return false;
  const QuietWindow& slot = quiet_slot(window);
  if (slot.window != window || !slot.results || !slot.results->covers(target)) return false;
  ++*slot.atomics;
  return true;
}

/// The same, of a get.
inline bool only_counted_get(MPI_Win window, int target) {
  if (!sleeping()) return false;
  const QuietWindow& slot = quiet_slot(window);
  if (slot.window != window) return false;
  std::uint64_t* const which = target == slot.own_rank ? slot.own_gets : slot.gets;
  if (!which) return false;
  ++*which;
  return true;
}

/// One that was counted makes a request.
inline bool only_counted_request(MPI_Win window, bool counted) {
  if (counted) ++*quiet_slot(window).requested;
  return counted;
}

}  // namespace hob::mpi
