// What Hob must know of a datatype: where its bytes lie.
#pragma once

#include "layout/layout.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

using layout::Block;
using layout::Layout;
using layout::pack;
using layout::unpack;

/// Layout of a datatype handle. Thread safe. A handle seen before costs nanoseconds. The object
/// lives as long as the process: a get may be under way after the program freed its datatype.
/// Programs that keep making new layouts get unusable ones once some megabytes are in use.
const Layout& layout_of(MPI_Datatype type);

/// To be called before a handle is freed: the library may give the same value to another type.
void forget_layout(MPI_Datatype type);

}  // namespace hob::mpi
