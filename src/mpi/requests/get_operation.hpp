#pragma once

#include <memory>

#include "mpi/requests/request.hpp"

namespace hob::mpi {

/// The request of an MPI_Rget that Hob carries out: completed by a wait, with an empty status.
class GetOperation : public Operation {
 public:
  /// The get was not issued: there is no such request.
  void withdraw(MPI_Request& request) {
    requests::withdraw(request);
    request = MPI_REQUEST_NULL;
    delete this;
  }

  int result(MPI_Status* status) final {
    requests::copy_status(requests::empty_status(), status);
    return error_;
  }
  void retire() final { delete this; }
  bool is_acquire() const final { return false; }

 protected:
  GetOperation() { completed_by_wait = true; }
  ~GetOperation() override = default;

  /// Makes the handle of a new one, which is deleted if there is no memory. Throws std::bad_alloc.
  template <class Get>
  static Get& added(Get* get, MPI_Request& request) {
    std::unique_ptr<Operation> until_added(get);
    request = requests::add(*get);
    static_cast<void>(until_added.release());
    return *get;
  }

  int error_ = MPI_SUCCESS;
};

}  // namespace hob::mpi
