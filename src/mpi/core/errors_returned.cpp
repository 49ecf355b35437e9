#include "mpi/core/errors_returned.hpp"

#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

/// None of the program's functions.
bool is_predefined_handler(MPI_Errhandler handler) {
#ifdef MPI_ERRORS_ABORT
  if (handler == MPI_ERRORS_ABORT) return true;
#endif
  return handler == MPI_ERRORS_RETURN || handler == MPI_ERRORS_ARE_FATAL ||
         handler == MPI_ERRHANDLER_NULL;
}

}  // namespace

ErrorsReturned::ErrorsReturned(MPI_Comm comm, MPI_Win win) {
  const bool of_window = win != MPI_WIN_NULL;
  const int asked = of_window ? real::Win_get_errhandler(win, &before_)
                              : real::Comm_get_errhandler(comm, &before_);
  if (asked != MPI_SUCCESS || is_predefined_handler(before_)) return;
  const int set = of_window ? real::Win_set_errhandler(win, MPI_ERRORS_RETURN)
                            : real::Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (set != MPI_SUCCESS) return;
  comm_ = comm;
  win_ = win;
}

ErrorsReturned::~ErrorsReturned() {
  if (comm_ != MPI_COMM_NULL) real::Comm_set_errhandler(comm_, before_);
  if (win_ != MPI_WIN_NULL) real::Win_set_errhandler(win_, before_);
  if (before_ != MPI_ERRHANDLER_NULL) real::Errhandler_free(&before_);
}

}  // namespace hob::mpi
