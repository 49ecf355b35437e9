// Open MPI 5 announces a partitioned transfer by a message on the program's communicator, with the
// program's tag, to an MPI_Precv_init that may still be to come. A program's own receives and
// probes can take it (open-mpi/ompi, pull request 14295, says the same of freed requests), and so
// could Hob: nothing but its length shows such a message, and a message that was dequeued cannot be
// given back.
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Whether messages of this program may be such announcements: it refers to one of the two
/// functions, or to none of MPI's, and then finds all of them by name.
bool may_see_announcements();

/// Whether the message of this status is as long as one.
bool looks_like_announcement(const MPI_Status& status);

}  // namespace hob::mpi
