// New windows: what Hob sets up for them.
#pragma once

#include <cstdint>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/ghost/ghost_window.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {

/// A window that the MPI library, or ghosts, have just made.
struct WindowSpec {
  MPI_Win handle = MPI_WIN_NULL;
  WindowKind kind = WindowKind::create;
  const void* base = nullptr;  ///< of this process's memory; null for dynamic windows
  MPI_Aint bytes = 0;          ///< exposed by this process
  MPI_Aint displacement_unit = 1;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  /// Another window may show the same memory. With `ghosts` the members' common answer, else this
  /// process's own.
  bool aliased = false;
  GhostWindow* ghosts = nullptr;  ///< if ghosts serve it: backend, displacement units
};

/// Whether memory overlaps that of a window of this process.
bool overlaps_another_window(const void* base, std::uint64_t bytes);

/// Takes a window into Hob's table, with its cache. Collective over spec.comm.
void register_window(const WindowSpec& spec);

}  // namespace hob::mpi
