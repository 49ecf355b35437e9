// What a thread of Hob's calls on objects of the program's must not end in its error handlers.
#pragma once

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// While it lives, the library calls no error handler of the program's for errors on this
/// communicator or window: it returns their codes. Handlers of MPI's own are left as they are.
/// No other thread sets the object's error handler meanwhile.
class ErrorsReturned {
 public:
  /// One of both is null: in MPICH handles of both kinds are of one type.
  ErrorsReturned(MPI_Comm comm, MPI_Win win);
  ~ErrorsReturned();
  ErrorsReturned(const ErrorsReturned&) = delete;
  ErrorsReturned& operator=(const ErrorsReturned&) = delete;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Win win_ = MPI_WIN_NULL;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace hob::mpi
