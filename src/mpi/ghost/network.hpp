// Whether the network does puts and gets without their target's processor.
#pragma once

#include "mpi/ghost/job/world.hpp"

namespace hob::mpi {

/// Tries it, once for the whole job: a rank of each node puts into and gets from memory of the next
/// node's ghost, of 8 bytes to 64 KiB, while that ghost is outside MPI (ghost/absence.hpp). True
/// where each of these operations was carried out meanwhile. What it takes at most: kAbsence... in
/// core/tuning.hpp. Collective over the internal communicator, before the ghosts serve.
bool network_moves_data(const GhostWorld& world);

}  // namespace hob::mpi
