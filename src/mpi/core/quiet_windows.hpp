// Calls on windows that are only counted while Hob sleeps: writes, and gets of windows that it
// leaves alone for good.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/core/handle.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {

/// Where the calls on a window are counted; null for those that its hook must see.
struct QuietWindow {
  MPI_Win window{};
  std::uint64_t* puts = nullptr;
  std::uint64_t* accumulates = nullptr;
  std::uint64_t* gets = nullptr;
};

/// One slot for each of a few windows, filled by their hooks. Global: a wrapper that only counts is
/// done after one load and one comparison.
inline constexpr int kQuietWindowBits = 4;
inline QuietWindow quiet_windows[std::size_t{1} << kQuietWindowBits];

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
