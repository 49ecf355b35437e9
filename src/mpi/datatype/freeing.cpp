#include "mpi/datatype/freeing.hpp"

#include "mpi/datatype/elements.hpp"
#include "mpi/datatype/layouts.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

int free_type(MPI_Datatype* type) {
  if (type) {
    forget_layout(*type);
    forget_element(*type);
  }
  return real::Type_free(type);
}

int on_Type_free(MPI_Datatype* datatype) { return free_type(datatype); }

}  // namespace hob::mpi
