// The communicator that stands for MPI_COMM_WORLD where ghosts are among the processes.
#pragma once

#include "mpi/core/state.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

inline MPI_Comm as_program_sees(MPI_Comm comm) {
  return HOB_UNLIKELY(program_world.is_smaller) && comm == MPI_COMM_WORLD ? program_world.comm
                                                                          : comm;
}

/// The reverse, for callbacks: the handle that the program knows.
inline MPI_Comm as_program_knows(MPI_Comm comm) {
  return HOB_UNLIKELY(program_world.is_smaller) && comm == program_world.comm ? MPI_COMM_WORLD
                                                                              : comm;
}

}  // namespace hob::mpi
