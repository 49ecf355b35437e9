#include "mpi/datatype/freeing.hpp"

#include "mpi/datatype/elements.hpp"
#include "mpi/datatype/layouts.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/state.hpp"

namespace hob::mpi {
namespace {

void forget(MPI_Datatype type) {
  forget_layout(type);
  forget_element(type);
}

}  // namespace

int free_type(MPI_Datatype* type) {
  if (!type) return real::Type_free(type);
  const MPI_Datatype before = *type;
  forget(before);
  const int error = real::Type_free(type);
  // The program's delete callbacks may have used it once more.
  if ((delete_callbacks.load(std::memory_order_relaxed) & kDatatypes) != 0) forget(before);
  return error;
}

void forget_types() {
  forget_layouts();
  forget_elements();
}

}  // namespace hob::mpi
