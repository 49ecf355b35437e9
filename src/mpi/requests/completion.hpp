// Completes what an array of requests of both kinds holds. Private to the request layer.
#pragma once

#include "mpi/requests/array.hpp"

namespace hob::mpi::requests {

/// Ends waitall and testall once everything is complete. `native_error`: of the library's part,
/// whose statuses are in `native_statuses`; in waitall, with_missing() belongs to it.
int finish_all(RequestArray& array, MPI_Status* statuses, int native_error,
               const MPI_Status* native_statuses);

/// One look for waitany and testany. Returns true if the call is to return now.
bool look_any(RequestArray& array, int* index, MPI_Status* status, int* error);

/// One look for waitsome and testsome. Returns true if waitsome is to return now.
bool look_some(RequestArray& array, int* outcount, int* indices, MPI_Status* statuses, int* error);

}  // namespace hob::mpi::requests
