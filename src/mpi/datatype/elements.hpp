// Element types and operations of accumulates as numbers that all processes of a job agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ghost/memory.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Number of a predefined operation; nothing for one that MPI does not allow in accumulates.
std::optional<unsigned> operation_number(MPI_Op op);

/// The predefined type that a datatype consists of; nothing where it consists of several. Thread
/// safe.
std::optional<ghost::Element> element_of(MPI_Datatype type);

/// Bytes of an element that hold data: its size, without padding (MPI_DOUBLE_INT has some).
std::uint32_t data_bytes_of(ghost::Element element);

/// Whether the operation can be done on elements of this type here. Types that Hob does not know by
/// number can be replaced and fetched, nothing else.
bool combines(ghost::Element element, unsigned operation);

/// The predefined type of an element; MPI_DATATYPE_NULL for one that Hob does not know by number.
MPI_Datatype type_of(ghost::Element element);

/// What operations MPI allows on an element. `bytes`: to be replaced and fetched, nothing else.
enum class ElementClass : std::uint8_t { integer, floating, bytes };
ElementClass class_of(ghost::Element element);

/// To be called before a handle is freed.
void forget_element(MPI_Datatype type);
void forget_elements();

/// ghost::Combine through the MPI library.
void combine(const void* in, void* inout, std::size_t count, unsigned type, unsigned operation);

}  // namespace hob::mpi
