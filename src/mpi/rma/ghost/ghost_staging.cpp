// Operations of GhostBackend on buffers in an accelerator's memory: on host images of them, which
// are there until the operation is complete.
#include <optional>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/ghost/ghost_backend.hpp"
#include "mpi/rma/ghost/host_image.hpp"

namespace hob::mpi {

int GhostBackend::move_staged(bool get, const TypedBuffer& origin, const Place& place,
                              MPI_Request* request) {
  const HostImage image(origin);
  int error = get ? MPI_SUCCESS : image.read();
  if (error != MPI_SUCCESS) return fail(error);
  error = move(get, image.buffer(), place, nullptr);
  if (error == MPI_SUCCESS) error = flush(place.target);
  if (error != MPI_SUCCESS) return error;
  if (get) error = image.write();
  return error != MPI_SUCCESS ? fail(error) : already_complete(request, false);
}

int GhostBackend::combine_staged(const TypedBuffer& origin, const TypedBuffer* result,
                                 const Place& place, MPI_Op op, MPI_Request* request) {
  const HostImage image(origin);
  std::optional<HostImage> result_image;
  if (result != nullptr) result_image.emplace(*result);
  // With MPI_NO_OP nobody reads the origin, which may be anything.
  int error = op == MPI_NO_OP ? MPI_SUCCESS : image.read();
  if (error != MPI_SUCCESS) return fail(error);
  const TypedBuffer into = result_image ? result_image->buffer() : TypedBuffer{};
  error = combine_at(image.buffer(), result_image ? &into : nullptr, place, op, nullptr);
  if (error == MPI_SUCCESS) error = flush(place.target);
  if (error != MPI_SUCCESS) return error;
  if (result_image) error = result_image->write();
  return error != MPI_SUCCESS ? fail(error) : already_complete(request, result != nullptr);
}

int GhostBackend::swap_staged(const TypedBuffer& origin, const TypedBuffer& compare,
                              const TypedBuffer& result, const Place& place) {
  const HostImage image(origin), compare_image(compare), result_image(result);
  int error = image.read();
  if (error == MPI_SUCCESS) error = compare_image.read();
  if (error != MPI_SUCCESS) return fail(error);
  error = compare_and_swap(image.address(), compare_image.address(), result_image.address(),
                           place.type, place.target, place.disp);
  if (error == MPI_SUCCESS) error = flush(place.target);
  if (error != MPI_SUCCESS) return error;
  error = result_image.write();
  return error != MPI_SUCCESS ? fail(error) : MPI_SUCCESS;
}

}  // namespace hob::mpi
