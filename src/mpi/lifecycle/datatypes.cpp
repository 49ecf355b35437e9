// Datatypes that end: every part may know something of them.
#include "mpi/datatype/freeing.hpp"
#include "mpi/lifecycle/parts.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

int on_Type_free(MPI_Datatype* datatype) {
  if (!datatype) return real::Type_free(datatype);
  const MPI_Datatype before = *datatype;
  const int error = free_type(datatype);
  if (error == MPI_SUCCESS) at(&Part::datatype_ended, before);
  return error;
}

}  // namespace hob::mpi
