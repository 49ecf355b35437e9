// What a program may ask of MPI_COMM_WORLD and only the library's own can answer.
#include "mpi/ghost_world.hpp"
#include "mpi/hooks.hpp"
#include "mpi/real.hpp"
#include "mpi/wrapper.hpp"

namespace hob::mpi {
namespace {

bool is_predefined(int keyval) {
  for (const int each :
       {MPI_TAG_UB, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_APPNUM, MPI_LASTUSEDCODE}) {
    if (keyval == each) return true;
  }
  return keyval == MPI_HOST;
}

// The ranks that a program could have in all do not count those that work for it.
void without_ghosts(void* value) {
  static int universe = 0;
  int ghosts = 0;
  for (const auto& list : ghost_world()->ghosts) ghosts += static_cast<int>(list.size());
  universe = **static_cast<int**>(value) - ghosts;
  *static_cast<int**>(value) = &universe;
}

}  // namespace

int on_Comm_get_attr(MPI_Comm comm, int comm_keyval, void* attribute_val, int* flag) {
  // Open MPI has the predefined attributes on MPI_COMM_WORLD alone.
  if (!world_is_smaller || comm != program_world || !is_predefined(comm_keyval)) {
    return real::Comm_get_attr(comm, comm_keyval, attribute_val, flag);
  }
  const int result = real::Comm_get_attr(MPI_COMM_WORLD, comm_keyval, attribute_val, flag);
  if (result == MPI_SUCCESS && *flag && comm_keyval == MPI_UNIVERSE_SIZE)
    without_ghosts(attribute_val);
  return result;
}

int on_Attr_get(MPI_Comm comm, int keyval, void* attribute_val, int* flag) {
  return on_Comm_get_attr(comm, keyval, attribute_val, flag);
}

int on_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler) {
  // Errors that belong to no communicator go to the library's own MPI_COMM_WORLD.
  if (world_is_smaller && comm == program_world)
    real::Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
  return real::Comm_set_errhandler(comm, errhandler);
}

}  // namespace hob::mpi
