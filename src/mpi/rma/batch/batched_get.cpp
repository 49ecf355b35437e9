#include "mpi/rma/batch/batched_get.hpp"

#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

BatchedGet& BatchedGet::begin(BatchOwner& owner, int target, MPI_Request& request) {
  return added(new BatchedGet(owner, target), request);
}

void BatchedGet::arrived(int error) {
  owner_ = nullptr;
  error_ = error;
  if (abandoned_) delete this;
}

void BatchedGet::issued_alone(MPI_Request request) {
  owner_ = nullptr;
  if (abandoned_) {
    real::Request_free(&request);
    delete this;
    return;
  }
  rest.store(request, std::memory_order_release);
}

void BatchedGet::complete() {
  if (!owner_) return;
  if (const int error = owner_->complete_batch_of(*this); error != MPI_SUCCESS) error_ = error;
  owner_ = nullptr;
}

bool BatchedGet::ready() {
  if (owner_) owner_->issue_alone(*this);
  MPI_Request request = missing();
  if (request == MPI_REQUEST_NULL) return true;
  int flag = 0;
  const int error = real::Test(&request, &flag, MPI_STATUS_IGNORE);
  if (!flag && error == MPI_SUCCESS) return false;
  rest.store(MPI_REQUEST_NULL, std::memory_order_release);
  if (error != MPI_SUCCESS) error_ = error;
  return true;
}

void all_arrived(std::vector<BatchedGet*>& gets, int error) {
  for (BatchedGet* const get : gets)
    if (get) get->arrived(error);
  gets.clear();
}

void BatchedGet::abandon() {
  if (MPI_Request request = missing(); request != MPI_REQUEST_NULL) real::Request_free(&request);
  if (!owner_) {
    delete this;
    return;
  }
  abandoned_ = true;
}

}  // namespace hob::mpi
