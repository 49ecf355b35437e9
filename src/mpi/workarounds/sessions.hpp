// Sessions that a program opens after MPI_Finalize, when ghosts have left.
//
// An MPI library may have to bring all processes of the launch together again before the first
// communicator of such a session (MPICH 5.0.2 does so, whatever the group). Ghosts are among them:
// they stay, sleeping, until the processes of the program have ended, and take part. They serve no
// windows then.
#pragma once

#include "mpi/ghost/job/world.hpp"

namespace hob::mpi {

/// In a ghost, after the library's MPI_Finalize: returns when the node's application ranks have
/// ended; at once where it cannot know, since containers number their processes themselves.
void await_sessions(const GhostWorld& world, const OwnGhost& own);

/// In an application rank, before a communicator is made from a group: after MPI_Finalize, makes
/// all processes meet, once for each time that MPI was opened. Collective then, as it is in the
/// library.
void open_again();

/// MPI ends in this process; the next session opens it again.
void end_opening();

}  // namespace hob::mpi
