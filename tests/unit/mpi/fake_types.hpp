// What the parts of the fake library share.
#pragma once

#include <utility>
#include <vector>

#include "mpi/pmpi/mpi.hpp"

namespace fake {

struct Type {
  int size = 0, extent = 0, combiner = 0;
  std::vector<int> integers;
  std::vector<MPI_Datatype> inner;
  std::vector<std::pair<int, int>> blocks;  ///< offset and bytes of one element
};

const Type& type_of(MPI_Datatype handle);

}  // namespace fake
