// This process as a client of ghosts. Global, since all its windows share one client, and the MPI
// library's callbacks have no argument for it. All mutable globals of this layer that others see
// are here.
#pragma once

namespace hob::mpi {

struct GhostClient;

/// One of a process, made at its start and there to its end: null without ghosts.
inline GhostClient* ghost_client = nullptr;

/// This thread holds the client, or waits in a call that does. The MPI library may call back into
/// Hob from there.
inline thread_local bool inside_ghost_client = false;

}  // namespace hob::mpi
