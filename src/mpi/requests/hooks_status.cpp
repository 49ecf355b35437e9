// MPI_Request_get_status and its relatives: requests stay as they are, whatever the answer.
#include <vector>

#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/requests/dispatch.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi {

using namespace requests;

int on_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  return dispatch(&request, AskOne<false>{flag, status});
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)

namespace {

/// The library's answer with those of Hob's, each of which has its error in its status, if any has
/// one. `native_error`: of the library's part.
int in_statuses(int native_error, bool failed, const std::vector<int>& errors,
                MPI_Status* statuses) {
  if (!failed) return native_error;
  if (statuses != MPI_STATUSES_IGNORE)
    for (std::size_t i = 0; i < errors.size(); ++i) statuses[i].MPI_ERROR = errors[i];
  return MPI_ERR_IN_STATUS;
}

struct StatusOfAll : AnswerOfAll {
  static constexpr bool kBlocks = false;

  int library(int count, MPI_Request* requests) const {
    return real::Request_get_status_all(count, requests, flag, statuses);
  }
  int mixed(RequestArray& array) const {
    *flag = 0;
    if (!array.ready() || blocking_needs_care()) advance();
    if (!array.ready()) return MPI_SUCCESS;
    MPI_Status* const native_statuses = array.statuses(static_cast<std::size_t>(array.natives()));
    int error = MPI_SUCCESS;
    *flag = 1;
    if (array.natives() != 0)
      error = real::Request_get_status_all(array.natives(), array.native_requests(), flag,
                                           native_statuses);
    if (error != MPI_SUCCESS && error != MPI_ERR_IN_STATUS) return error;
    if (!*flag) return error;
    notify_after(*this, array, error);
    std::vector<int> errors(static_cast<std::size_t>(array.count()), MPI_SUCCESS);
    bool failed = error == MPI_ERR_IN_STATUS;
    for (int i = 0; i < array.natives(); ++i) {
      const MPI_Status& status = native_statuses[i];
      if (failed) errors[static_cast<std::size_t>(array.place(i))] = status.MPI_ERROR;
      copy_status(status, status_at(statuses, array.place(i)));
    }
    for (const int i : array.idle()) copy_status(empty_status(), status_at(statuses, i));
    for (const OwnRequest& own : array.own()) {
      int& its = errors[static_cast<std::size_t>(own.place)];
      its = result_of(*own.operation, status_at(statuses, own.place));
      failed |= its != MPI_SUCCESS;
    }
    return in_statuses(error, failed, errors, statuses);
  }
};

struct StatusOfAny : AnswerOfAny {
  static constexpr bool kBlocks = false;

  int library(int count, MPI_Request* requests) const {
    return real::Request_get_status_any(count, requests, index, flag, status);
  }
  int mixed(RequestArray& array) const {
    advance();
    for (const OwnRequest& own : array.own()) {
      if (!own.operation->ready()) continue;
      *flag = 1;
      *index = own.place;
      return result_of(*own.operation, status);
    }
    int native = MPI_UNDEFINED, error = MPI_SUCCESS;
    *flag = 1;
    if (array.natives() != 0)
      error = real::Request_get_status_any(array.natives(), array.native_requests(), &native, flag,
                                           status);
    const bool found = error == MPI_SUCCESS && *flag && native != MPI_UNDEFINED;
    if (error != MPI_SUCCESS) return error;
    *index = found ? array.place(native) : MPI_UNDEFINED;
    if (found) array.notify(array.place(native));
    if (found) return MPI_SUCCESS;
    *flag = *flag && array.own().empty();
    if (*flag) copy_status(empty_status(), status);
    return MPI_SUCCESS;
  }
};

struct StatusOfSome : AnswerOfSome {
  static constexpr bool kBlocks = false;

  int library(int count, MPI_Request* requests) const {
    return real::Request_get_status_some(count, requests, outcount, indices, statuses);
  }
  int mixed(RequestArray& array) const {
    advance();
    std::vector<int> errors;
    bool failed = false;
    int found = 0;
    for (const OwnRequest& own : array.own()) {
      if (!own.operation->ready()) continue;
      indices[found] = own.place;
      errors.push_back(result_of(*own.operation, status_at(statuses, found++)));
      failed |= errors.back() != MPI_SUCCESS;
    }
    int natives = MPI_UNDEFINED, error = MPI_SUCCESS;
    MPI_Status* const native_statuses = array.statuses(static_cast<std::size_t>(array.natives()));
    if (array.natives() != 0)
      error = real::Request_get_status_some(array.natives(), array.native_requests(), &natives,
                                            indices + found, native_statuses);
    const bool natives_failed = error == MPI_ERR_IN_STATUS;
    if (error != MPI_SUCCESS && !natives_failed) natives = MPI_UNDEFINED;
    for (int i = 0; natives != MPI_UNDEFINED && i < natives; ++i, ++found) {
      const MPI_Status& status = native_statuses[i];
      int& place = indices[found];
      place = array.place(place);
      array.notify(place);
      errors.push_back(natives_failed ? status.MPI_ERROR : MPI_SUCCESS);
      copy_status(status, status_at(statuses, found));
    }
    *outcount = array.own().empty() && natives == MPI_UNDEFINED ? MPI_UNDEFINED : found;
    return in_statuses(error, failed || natives_failed, errors, statuses);
  }
};

// The standard's requests are const here, those of some libraries (Intel MPI) are not.
template <class Requests, class... Rest>
Requests second_parameter(int (*)(int, Requests, Rest...));
using Requests = decltype(second_parameter(&MPI_Request_get_status_all));

}  // namespace

int on_Request_get_status_all(int count, Requests array_of_requests, int* flag,
                              MPI_Status* array_of_statuses) {
  return dispatch(count, const_cast<MPI_Request*>(array_of_requests),
                  StatusOfAll{{flag, array_of_statuses}});
}

int on_Request_get_status_any(int count, Requests array_of_requests, int* index, int* flag,
                              MPI_Status* status) {
  return dispatch(count, const_cast<MPI_Request*>(array_of_requests),
                  StatusOfAny{{index, flag, status}});
}

int on_Request_get_status_some(int incount, Requests array_of_requests, int* outcount,
                               int array_of_indices[], MPI_Status* array_of_statuses) {
  return dispatch(incount, const_cast<MPI_Request*>(array_of_requests),
                  StatusOfSome{{outcount, array_of_indices, array_of_statuses}});
}

#endif

}  // namespace hob::mpi
