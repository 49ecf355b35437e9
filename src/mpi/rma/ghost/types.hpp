// Element types and operations of accumulates as numbers that all processes of a job agree on.
#pragma once

#include <optional>
#include <vector>

#include "ghost/layout.hpp"
#include "ghost/memory.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Number of a predefined operation; nothing for one that MPI does not allow in accumulates.
std::optional<unsigned> operation_number(MPI_Op op);

/// The predefined type that a datatype consists of; nothing where it consists of several.
std::optional<ghost::Element> element_of(MPI_Datatype type);

/// Whether the operation can be done on elements of this type here. Types that Hob does not know by
/// number can be replaced and fetched, nothing else.
bool combines(ghost::Element element, unsigned operation);

/// To be called before a handle is freed.
void forget_element(MPI_Datatype type);

/// Blocks of `count` elements of a datatype, each block made of whole elements with their padding
/// (MPI_DOUBLE_INT has some), `start` bytes from the base. Empty and false if it cannot be told.
bool element_blocks(MPI_Datatype type, MPI_Count count, ghost::Element element, std::int64_t start,
                    std::vector<ghost::Block>& blocks);

/// Blocks of the data bytes of `count` elements of a datatype. False if they cannot be told.
bool data_blocks(MPI_Datatype type, MPI_Count count, std::int64_t start,
                 std::vector<ghost::Block>& blocks);

/// ghost::Combine through the MPI library.
void combine(const void* in, void* inout, std::size_t count, unsigned type, unsigned operation);

}  // namespace hob::mpi
