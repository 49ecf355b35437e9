// A get of the program.
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// One get of the program, or an MPI_Get_accumulate that only reads.
struct Get {
  void* buffer;
  MPI_Count count;
  MPI_Datatype type;
  int target;
  MPI_Aint disp;
  MPI_Count target_count;
  MPI_Datatype target_type;
  bool atomic = false;  ///< issued as MPI_Get_accumulate with MPI_NO_OP
};

}  // namespace hob::mpi
