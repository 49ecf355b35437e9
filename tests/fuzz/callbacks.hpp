// Callbacks of the program that the MPI library calls from calls that are local, and what a rank
// does inside of them.
#pragma once

#include <mpi.h>

#include <functional>

namespace fuzz {

enum Callback {
  kNoCallback,
  kDeleteAttribute,   ///< of MPI_Comm_delete_attr
  kReplaceAttribute,  ///< of MPI_Comm_set_attr over another value
  kErrorHandler,      ///< of MPI_Comm_call_errhandler
  kCancel,            ///< of MPI_Cancel on a generalized request
  kThrowing,          ///< an error handler that throws; the exception is caught behind the call
};

/// Does it inside of a callback of this kind, on communicators of one process made from nothing.
void in_callback(MPI_Comm comm, int kind, const std::function<void()>& happens);

/// Does it in the delete callback of an attribute of MPI_COMM_SELF, inside of MPI_Finalize.
void in_finalize(std::function<void()> happens);

}  // namespace fuzz
