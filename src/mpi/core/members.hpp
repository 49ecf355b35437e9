// Which communicators have no process but those that are known to run Hob.
#pragma once

#include <vector>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Whether all processes of a communicator are of this job's world, which runs Hob throughout
/// (lifecycle/presence.hpp): processes that were spawned, or met by a port, may not. All of its
/// members that run Hob answer alike, so Hob may call it jointly there. Local.
bool all_run_hob(MPI_Comm comm);

/// What all members of a group are in another one, in their order; MPI_UNDEFINED where they are not
/// in it. Local.
std::vector<int> members_in(MPI_Group all, MPI_Group members);

/// What these ranks of one communicator are in another one; MPI_UNDEFINED where they are not in it.
/// Local.
std::vector<int> translated(MPI_Comm from, const std::vector<int>& ranks, MPI_Comm to);

}  // namespace hob::mpi
