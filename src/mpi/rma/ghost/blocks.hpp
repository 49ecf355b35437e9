// Where the bytes of an operation's buffers lie, in the form that ghosts get.
#pragma once

#include <cstdint>
#include <vector>

#include "ghost/block.hpp"
#include "ghost/memory.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Blocks of the data bytes of `count` elements of a datatype, `start` bytes from the base. False
/// if they cannot be found. Thread safe.
bool data_blocks(MPI_Datatype type, MPI_Count count, std::int64_t start,
                 std::vector<ghost::Block>& blocks);

/// The same, each block made of whole elements with their padding (MPI_DOUBLE_INT has some).
bool element_blocks(MPI_Datatype type, MPI_Count count, ghost::Element element, std::int64_t start,
                    std::vector<ghost::Block>& blocks);

}  // namespace hob::mpi
