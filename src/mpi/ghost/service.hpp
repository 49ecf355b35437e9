// The life of a ghost, from the division of the world to the end of the job.
#pragma once

#include "mpi/ghost/job/world.hpp"

namespace hob::mpi {

/// Serves, leaves, and ends the process with status 0 when the job ends.
[[noreturn]] void live_as_ghost(GhostWorld& world, const OwnGhost& own);

}  // namespace hob::mpi
