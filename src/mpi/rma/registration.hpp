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
  bool aliased = false;           ///< another window of this process may show the same memory
  GhostWindow* ghosts = nullptr;  ///< if ghosts serve it: backend, displacement units, answers
};

/// Whether memory overlaps that of a window of this process.
bool overlaps_another_window(const void* base, std::uint64_t bytes);

/// What this process says of a window that is about to be made; of `spec`, the handle and `ghosts`
/// may be missing.
WindowAnswers own_answers(const WindowSpec& spec);

/// Takes a window into Hob's table, with its cache. Collective over spec.comm.
void register_window(const WindowSpec& spec);

}  // namespace hob::mpi
