// Windows whose memory ghosts can reach.
#pragma once

#include <cstdint>
#include <memory>

#include "base/per_rank.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/backend/backend.hpp"
#include "mpi/rma/backend/window_answers.hpp"

namespace hob::mpi {

class GhostBackend;

/// A window made by ghost_window: which memory it is given back to, and when.
struct GhostWindow {
  MPI_Win handle;
  void* base = nullptr;
  std::unique_ptr<Backend> backend;
  const GhostBackend* ghosts = nullptr;  ///< it is this one
  PerRank units;                         ///< displacement units of all targets
  PerRank sizes;                         ///< bytes that each rank shows
  PerRank readable;                      ///< of these, as ExposedSizes has it
  /// What this process says of the window; then what all members say. Bytes and rejections stay as
  /// they were.
  WindowAnswers answers;
};

/// MPI_Win_allocate (allocate) or MPI_Win_create (not allocate: `base` is the program's) with
/// ghosts: collective over comm. False, the same everywhere, where ghosts cannot serve: processes
/// that do not belong to this job's world, or memory that cannot be had or reached. Then nothing
/// was made. An MPI error goes to `result`.
bool ghost_window(bool allocate, void* base, MPI_Aint size, MPI_Aint unit, MPI_Info info,
                  MPI_Comm comm, GhostWindow& window, int& result);

/// Whether all of this memory is in this process's own part of what its node shares: other
/// processes store there by one-sided operations only. False without ghosts.
bool in_own_arena(const void* base, std::uint64_t bytes);

/// The memory of a process of this node in such a window: what MPI_Win_shared_query returns.
bool ghost_shared_query(const GhostBackend& backend, int rank, MPI_Aint* size, MPI_Aint* unit,
                        void** base);

}  // namespace hob::mpi
