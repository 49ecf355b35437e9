// The end of a datatype's handle: the library may give the same value to another type.
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// MPI_Type_free, of a type that the program or Hob made. Whoever was given the handle may have
/// looked its layout up: what is known of it is forgotten first. Thread safe.
int free_type(MPI_Datatype* type);

/// MPI ends, and with it all handles: a session that begins later may be given the same.
void forget_types();

}  // namespace hob::mpi
