// Windows whose memory ghosts can reach.
#pragma once

#include <cstdint>
#include <memory>

#include "base/per_rank.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/backend/backend.hpp"

namespace hob::mpi {

/// A window made by ghost_window: which memory it is given back to, and when.
struct GhostWindow {
  MPI_Win handle;
  void* base = nullptr;
  std::unique_ptr<Backend> backend;
  PerRank units;  ///< displacement units of all targets
  PerRank sizes;  ///< bytes that each rank shows
};

/// MPI_Win_allocate (allocate) or MPI_Win_create (not allocate: `base` is the program's) with
/// ghosts: collective over comm. False, the same everywhere, where ghosts cannot serve: processes
/// that do not belong to this job's world, or memory that cannot be had or reached. Then nothing
/// was made. An MPI error goes to `result`. `flag`: true in one process is true in all of them
/// afterwards, if the window was made.
bool ghost_window(bool allocate, void* base, MPI_Aint size, MPI_Aint unit, MPI_Info info,
                  MPI_Comm comm, bool& flag, GhostWindow& window, int& result);

/// Whether a backend is that of such a window.
bool is_ghost_backend(const Backend* backend);

/// The memory of a process of this node in such a window, as MPI_Win_shared_query tells it.
bool ghost_shared_query(const Backend* backend, int rank, MPI_Aint* size, MPI_Aint* unit,
                        void** base);

}  // namespace hob::mpi
