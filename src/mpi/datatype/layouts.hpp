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

/// The same, for gets that a cache may serve: a type that was made by many arguments is unusable
/// when it is seen first. Many are made for one operation, and reading them costs more than their
/// get.
const Layout& layout_worth_reading(MPI_Datatype type);

/// Where the bytes of an element lie at most: `low`, `high` and `extent` of its layout, and nothing
/// else of it. Costs little whatever the type is.
Layout span_of(MPI_Datatype type);

/// To be called before a handle is freed: the library may give the same value to another type.
void forget_layout(MPI_Datatype type);
void forget_layouts();

}  // namespace hob::mpi
