// How the members of a communicator add up their reports on more targets than a bit for each has
// room for.
#pragma once

#include "mpi/pmpi/mpi.hpp"
#include "validation/changes.hpp"

namespace hob::mpi {

/// Handles of the MPI library: an operation that unites, and the type of what it unites. They
/// belong to a communicator, and end before MPI does. Not thread safe.
class LargeChanges {
 public:
  LargeChanges();
  ~LargeChanges();
  LargeChanges(const LargeChanges&) = delete;
  LargeChanges& operator=(const LargeChanges&) = delete;

  /// The union of the reports of all members. Collective; what MPI_Allreduce returns.
  int unite(validation::Changes& changes, MPI_Comm comm) const;

 private:
  MPI_Op unite_ = MPI_OP_NULL;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace hob::mpi
