// Calls on windows that are only counted while Hob sleeps: writes, and gets of windows that it
// leaves alone for good.
#pragma once

#include <cstdint>

#include "mpi/core/handle.hpp"
#include "mpi/core/state.hpp"
#include "mpi/pmpi/wrapper.hpp"

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

}  // namespace hob::mpi
