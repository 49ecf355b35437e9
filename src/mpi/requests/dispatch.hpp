// The way of every call that waits for requests, tests them or asks for their status: what the
// library may do alone, and what it may not. A call is a class that says what differs:
//
//     kBlocks                    the library's call blocks
//     kRepeated                  of calls on arrays: it is made as often as there are requests
//     library(...)               the library's own call
//     notify(array)              which requests the library has completed, without an error:
//                                array.notify(i)
//     mixed(array)               an array with operations of Hob's, or while Hob's must advance
// and of one request:
//     kOnlyAsks                  true: the request stays
//     native(request)            the library's request, while Hob's must advance
//     says_complete()            whether the library has completed it, without an error
//     inactive()                 a persistent operation of Hob's that is not started
//     own(request, operation)    an operation of Hob's
//
// Private to the request layer.
#pragma once

#include "mpi/progress/progress.hpp"
#include "mpi/requests/array.hpp"
#include "mpi/requests/single.hpp"

namespace hob::mpi::requests {

template <class Call, class... Requests>
[[gnu::always_inline]] inline int in_library(const Call& call, Requests... requests) {
  if constexpr (Call::kBlocks) {
    const Blocking blocking;
    return call.library(requests...);
  } else {
    return call.library(requests...);
  }
}

/// Whether one request is complete: MPI_Test, which then ends it, or MPI_Request_get_status.
template <bool ends>
struct AskOne {
  static constexpr bool kBlocks = false;
  static constexpr bool kOnlyAsks = !ends;
  int* flag;
  MPI_Status* status;

  int library(MPI_Request* request) const {
    return ends ? real::Test(request, flag, status)
                : real::Request_get_status(*request, flag, status);
  }
  int native(MPI_Request* request) const {
    if (blocking_needs_care()) advance();
    return library(request);
  }
  bool says_complete() const { return *flag != 0; }
  int inactive() const {
    *flag = 1;
    copy_status(empty_status(), status);
    return MPI_SUCCESS;
  }
  int own(MPI_Request* request, Operation& operation) const {
    if (!operation.ready()) advance();
    *flag = operation.ready();
    if (!*flag) return MPI_SUCCESS;
    return ends ? finish(request, operation, status) : result_of(operation, status);
  }
};

// What calls on arrays answer. `flag`: null where the call waits.

struct AnswerOfAll {
  int* flag;
  MPI_Status* statuses;
  void notify(RequestArray& array) const {
    for (int i = 0; (!flag || *flag) && i < array.count(); ++i) array.notify(i);
  }
};

struct AnswerOfAny {
  int* index;
  int* flag;
  MPI_Status* status;
  void notify(RequestArray& array) const {
    if ((!flag || *flag) && *index != MPI_UNDEFINED) array.notify(*index);
  }
};

struct AnswerOfSome {
  int* outcount;
  int* indices;
  MPI_Status* statuses;
  void notify(RequestArray& array) const {
    for (int i = 0; *outcount != MPI_UNDEFINED && i < *outcount; ++i) array.notify(indices[i]);
  }
};

/// After a call of the library's that was given the program's own array.
template <class Call>
void notify_after(const Call& call, RequestArray& array, int error) {
  HOB_LIKELY(error == MPI_SUCCESS) ? call.notify(array) : array.notify_failed();
}

/// Of a request that Hob knows, or while Hob's things must advance.
template <class Call>
[[gnu::noinline]] int dispatch_known(MPI_Request* request, const Call& call) {
  const KnownHandle entry = look_up(*request);
  if (!entry.operation) {
    if (entry.observer && !many_threads) entry.observer->asked(entry.cookie);
    HeldWatch watch(*request);
    const int error = call.native(request);
    watch.returned();
    if (HOB_UNLIKELY(error != MPI_SUCCESS)) {
      if (watch.handle() != *request) watch.notify(true);
      return error;
    }
    if (!call.says_complete()) return error;
    const bool no_acquire = entry.observer && !entry.observer->is_acquire();
    watch.notify(false);
    if constexpr (requires { requires Call::kOnlyAsks; })
      // It is complete and still there: waiting for it shows nothing either.
      if (no_acquire) note_no_acquire(*request);
    return error;
  }
  return entry.operation->active() ? call.own(request, *entry.operation) : call.inactive();
}

/// A call on one request. Thread safe as the call itself.
template <class Call>
[[gnu::always_inline]] inline int dispatch(MPI_Request* request, const Call& call) {
  if (HOB_LIKELY(only_native(*request))) return in_library(call, request);
  return dispatch_known(request, call);
}

/// Of an array in which Hob knows a request, or while Hob's things must advance.
template <class Call>
[[gnu::noinline]] int dispatch_known(int count, MPI_Request* requests, const Call& call) {
  if (count == 1 && !many_threads)
    if (const KnownHandle entry = look_up(*requests); entry.observer)
      entry.observer->asked(entry.cookie);
  constexpr bool repeated = requires { Call::kRepeated; };
  RequestArray array(count, requests, repeated);
  const bool alone = array.all_in_library();
  const int error = alone ? in_library(call, count, requests) : call.mixed(array);
  array.returned();
  if (alone) notify_after(call, array, error);
  return error;
}

/// A call on an array. Thread safe as the call itself.
template <class Call>
[[gnu::always_inline]] inline int dispatch(int count, MPI_Request* requests, const Call& call) {
  if (HOB_LIKELY(only_native(count, requests)) || count <= 0)
    return in_library(call, count, requests);
  return dispatch_known(count, requests, call);
}

}  // namespace hob::mpi::requests
