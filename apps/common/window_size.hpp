// How large a window is made.
#pragma once

#include <mpi.h>

#include <cstddef>

namespace apps {

// Bytes for a window of `bytes`, in whole cache lines. MPICH 4.0 needs a multiple of 16: on one
// node, gets from a window of another size read beside it.
inline MPI_Aint window_size(std::size_t bytes) {
  return static_cast<MPI_Aint>((bytes + 63) / 64 * 64);
}

}  // namespace apps
