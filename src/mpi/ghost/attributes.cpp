// With ghosts, attributes of MPI_COMM_WORLD are on the communicator that stands for it. (Callbacks
// see the handle that the program knows: pmpi/callbacks.cpp.)
#include "mpi/ghost/attributes.hpp"

#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {
namespace {

int no_copy(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int delete_with_world(MPI_Comm, int, void*, void*) {
  MPI_Comm world = program_world;
  // The hook: matching forgets the communicator, too.
  return world != MPI_COMM_NULL ? on_Comm_free(&world) : MPI_SUCCESS;
}

}  // namespace

void delete_attributes_at_finalize() {
  int keyval = MPI_KEYVAL_INVALID;
  if (real::Comm_create_keyval(no_copy, delete_with_world, &keyval, nullptr) == MPI_SUCCESS)
    real::Comm_set_attr(MPI_COMM_WORLD, keyval, nullptr);
}

}  // namespace hob::mpi
