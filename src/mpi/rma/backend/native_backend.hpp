// RMA through the MPI library.
#pragma once

#include "mpi/rma/backend/backend.hpp"

namespace hob::mpi {

/// The library's own call for an operation or a synchronisation, with the large-count form where
/// needed.
int issue_natively(const rma::Op& op, MPI_Win win);
int synchronise_natively(const rma::Sync& sync, MPI_Win win);

class NativeBackend final : public Backend {
 public:
  explicit NativeBackend(MPI_Win win) : win_(win) {}

  int issue(const rma::Op& op) override;
  int synchronise(const rma::Sync& sync) override;

 private:
  MPI_Win win_;
};

}  // namespace hob::mpi
