// What the whole process knows beside its context(). All mutable globals of this layer that others
// see are here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// A runtime for accelerators is loaded (CUDA, HIP or Level Zero). Global, since memory is the
/// whole process's.
inline std::atomic<bool> accelerator_loaded{false};

/// Where the calls on a window are counted; null for those that its hook must see.
struct QuietWindow {
  MPI_Win window{};
  std::uint64_t* puts = nullptr;
  std::uint64_t* accumulates = nullptr;
  std::uint64_t* gets = nullptr;      ///< whatever their target is
  std::uint64_t* own_gets = nullptr;  ///< of the process's own rank alone
  std::uint64_t* requested = nullptr;
  int own_rank = -1;
};

/// One slot for each of a few windows, filled by their hooks. Global: a wrapper that only counts is
/// done after one load and one comparison.
inline constexpr int kQuietWindowBits = 4;
inline QuietWindow quiet_windows[std::size_t{1} << kQuietWindowBits];

}  // namespace hob::mpi
