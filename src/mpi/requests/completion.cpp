#include "mpi/requests/completion.hpp"

#include <utility>
#include <vector>

#include "mpi/core/acquires.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/requests/single.hpp"

namespace hob::mpi::requests {

int finish_all(RequestArray& array, MPI_Status* statuses, int native_error,
               const MPI_Status* native_statuses) {
  const bool wanted = statuses != MPI_STATUSES_IGNORE;
  bool failed = native_error == MPI_ERR_IN_STATUS;
  for (int i = 0; i < array.natives(); ++i) {
    if (native_error == MPI_SUCCESS || failed) array.completed(i);
    if (wanted) {
      copy_status(native_statuses[i], &statuses[array.place(i)]);
      if (failed) statuses[array.place(i)].MPI_ERROR = native_statuses[i].MPI_ERROR;
    }
  }
  for (const int i : array.idle()) copy_status(empty_status(), status_at(statuses, i));
  auto missing = static_cast<std::size_t>(array.natives());
  std::vector<std::pair<int, int>> errors;  // of Hob's: place, code
  for (const OwnRequest& own : array.own()) {
    MPI_Request* request = &array.requests()[own.place];
    int error = MPI_SUCCESS;
    if (own.operation->missing() == MPI_REQUEST_NULL) {
      error = finish(request, *own.operation, status_at(statuses, own.place));
    } else if (const std::size_t at_library = missing++;
               HOB_LIKELY(array.native_requests()[at_library] == MPI_REQUEST_NULL)) {
      const MPI_Status& status = native_statuses[at_library];
      if (native_error == MPI_ERR_IN_STATUS) error = status.MPI_ERROR;
      copy_status(status, status_at(statuses, own.place));
      end(request, *own.operation);
    } else {  // another one's error came first
      wait_for(*own.operation, false);
      error = finish(request, *own.operation, status_at(statuses, own.place));
    }
    if (HOB_UNLIKELY(error != MPI_SUCCESS)) errors.emplace_back(own.place, error);
  }
  if (!failed && errors.empty()) return native_error;
  if (wanted) {
    if (native_error == MPI_SUCCESS)
      for (int i = 0; i < array.natives(); ++i) statuses[array.place(i)].MPI_ERROR = MPI_SUCCESS;
    for (const int i : array.idle()) statuses[i].MPI_ERROR = MPI_SUCCESS;
    for (const OwnRequest& own : array.own()) statuses[own.place].MPI_ERROR = MPI_SUCCESS;
    for (const auto& [place, error] : errors) statuses[place].MPI_ERROR = error;
  }
  return MPI_ERR_IN_STATUS;
}

bool look_any(RequestArray& array, int* index, MPI_Status* status, int* error) {
  bool found = false;
  array.each_ready([&](const OwnRequest& own) {
    *index = own.place;
    *error = array.finish(own, status);
    found = true;
    return false;
  });
  if (found) return true;
  int native = MPI_UNDEFINED, flag = 0;
  if (array.natives() != 0) {
    *error = real::Testany(array.natives(), array.native_requests(), &native, &flag, status);
    // Of a request that failed the library says which it was; of a wrong argument, nothing.
    if (native >= 0 && native < array.natives() && (flag || *error != MPI_SUCCESS)) {
      *index = array.place(native);
      array.completed(native);
      return true;
    }
    if (*error != MPI_SUCCESS) return true;
  }
  if (array.any_active() || (array.natives() != 0 && !flag)) return false;
  *index = MPI_UNDEFINED;
  *error = MPI_SUCCESS;
  copy_status(empty_status(), status);
  return true;
}

bool look_some(RequestArray& array, int* outcount, int* indices, MPI_Status* statuses, int* error) {
  int found = 0;
  std::vector<std::pair<int, int>> errors;  // of Hob's: place among the statuses, code
  array.each_ready([&](const OwnRequest& own) {
    indices[found] = own.place;
    const int its = array.finish(own, status_at(statuses, found));
    if (HOB_UNLIKELY(its != MPI_SUCCESS)) errors.emplace_back(found, its);
    ++found;
    return true;
  });
  int natives = MPI_UNDEFINED;
  *error = MPI_SUCCESS;
  if (array.natives() != 0)
    *error = real::Testsome(array.natives(), array.native_requests(), &natives, indices + found,
                            status_at(statuses, found));
  const bool natives_failed = *error == MPI_ERR_IN_STATUS, failed = !errors.empty();
  if (*error != MPI_SUCCESS && !natives_failed) natives = MPI_UNDEFINED;
  if (natives != MPI_UNDEFINED) {
    for (int i = 0; i < natives; ++i) {
      array.completed(indices[found + i]);
      indices[found + i] = array.place(indices[found + i]);
      if (failed && !natives_failed && statuses != MPI_STATUSES_IGNORE)
        statuses[found + i].MPI_ERROR = MPI_SUCCESS;
    }
  }
  if ((failed || natives_failed) && statuses != MPI_STATUSES_IGNORE) {
    for (int i = 0; i < found; ++i) statuses[i].MPI_ERROR = MPI_SUCCESS;
    for (const auto& [place, its] : errors) statuses[place].MPI_ERROR = its;
  }
  if (failed) *error = MPI_ERR_IN_STATUS;
  *outcount = found + (natives == MPI_UNDEFINED ? 0 : natives);
  if (*outcount == 0 && !array.any_active() && natives == MPI_UNDEFINED) {
    *outcount = MPI_UNDEFINED;
    return true;
  }
  return *outcount != 0 || *error != MPI_SUCCESS;
}

}  // namespace hob::mpi::requests
