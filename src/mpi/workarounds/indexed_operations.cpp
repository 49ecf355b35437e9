#include "mpi/workarounds/indexed_operations.hpp"

#include "mpi/pmpi/library/library.hpp"

namespace hob::mpi {

bool indexed_operations_are_right(std::string_view version) {
  return library::mpich_version(version) >= 5;
}

}  // namespace hob::mpi
