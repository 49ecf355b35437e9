// MPICH 4.0 and Open MPI 5.0 return wrong bytes of one-sided operations with indexed datatypes, as
// random programs show without Hob, too (tests/fuzz/CMakeLists.txt). Of Open MPI,
// open-mpi/ompi has issues 14175 and 14181.
#pragma once

#include <string_view>

namespace hob::mpi {

/// One-sided operations with indexed datatypes do what MPI says, as far as random programs show.
/// `version` is what MPI_Get_library_version says.
bool indexed_operations_are_right(std::string_view version);

}  // namespace hob::mpi
