// Operations of GhostBackend on buffers in an accelerator's memory: on host images of them, which
// are there until the operation is complete.
#include <optional>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/ghost/ghost_backend.hpp"
#include "mpi/rma/ghost/host_image.hpp"

namespace hob::mpi {

int GhostBackend::issue_staged(const rma::Op& op) {
  rma::Op staged = op;
  staged.request = nullptr;
  std::optional<HostImage> origin, compare, result;
  int error = MPI_SUCCESS;
  // With MPI_NO_OP the origin is not read, and may be anything.
  if (op.kind != rma::Op::Kind::get && op.operation != MPI_NO_OP) {
    staged.origin = origin.emplace(op.origin).buffer();
    error = origin->read();
  }
  if (op.compare != nullptr && error == MPI_SUCCESS) {
    staged.compare = compare.emplace(compared_by(op)).address();
    error = compare->read();
  }
  if (error != MPI_SUCCESS) return fail(error);
  if (op.brings()) staged.result = result.emplace(op.result).buffer();
  error = issue(staged);
  if (error == MPI_SUCCESS) error = flush(op.target);
  if (error != MPI_SUCCESS) return error;
  if (result) error = result->write();
  return error != MPI_SUCCESS ? fail(error)
                              : already_complete(op, op.kind == rma::Op::Kind::get_accumulate);
}

}  // namespace hob::mpi
