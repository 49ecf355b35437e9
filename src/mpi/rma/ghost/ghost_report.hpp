// What the report says of ghosts.
#pragma once

namespace hob::mpi {

/// Before MPI starts.
void register_ghost_report();

}  // namespace hob::mpi
