// Every wait and test function, with requests of Hob's and of the library's mixed.
#include "mpi/pmpi/hooks.hpp"

#include <memory>
#include <vector>

#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/requests/awaited.hpp"
#include "mpi/requests/completion.hpp"
#include "mpi/requests/dispatch.hpp"
#include "mpi/requests/known.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi {
namespace requests {
namespace {

/// What MPI_Testall found unready last: the program asks for the same array again.
Awaited awaited_by_testall;

struct WaitOne {
  static constexpr bool kBlocks = true;
  MPI_Status* status;

  int library(MPI_Request* request) const { return real::Wait(request, status); }
  int native(MPI_Request* request) const { return native_wait(request, status); }
  bool says_complete() const { return true; }
  int inactive() const {
    copy_status(empty_status(), status);
    return MPI_SUCCESS;
  }
  int own(MPI_Request* request, Operation& operation) const {
    wait_for(operation, true);
    if (MPI_Request missing = operation.missing(); missing != MPI_REQUEST_NULL) {
      const int error = native_wait(&missing, status);
      if (HOB_LIKELY(missing == MPI_REQUEST_NULL)) {
        end(request, operation);
        return error;
      }
      wait_for(operation, false);
    }
    return finish(request, operation, status);
  }
};

struct TestOne {
  static constexpr bool kBlocks = false;
  int* flag;
  MPI_Status* status;

  int library(MPI_Request* request) const { return real::Test(request, flag, status); }
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
    return *flag ? finish(request, operation, status) : MPI_SUCCESS;
  }
};

struct WaitAll {
  static constexpr bool kBlocks = true;
  MPI_Status* statuses;

  int library(int count, MPI_Request* requests) const {
    return real::Waitall(count, requests, statuses);
  }
  template <class Seen>
  void notify(const Seen& seen) const {
    for (int i = 0; i < seen.natives(); ++i) seen.notify(i);
  }
  int mixed(MixedRequests& mix) const {
    if (!mix.any_own()) {
      const int error = native_waitall(mix.natives(), mix.requests(), statuses);
      notify_seen(*this, mix, error);
      return error;
    }
    mix.complete();
    if (!mix.left_to_library()) {
      Pause pause;
      PollPacing looks(mix);
      while (!mix.left_to_library()) {
        looks();
        pause();
      }
    }
    std::vector<MPI_Request>& natives = mix.with_missing();
    MPI_Status* const native_statuses = mix.statuses(natives.size());
    const int error = natives.empty() ? MPI_SUCCESS
                                      : native_waitall(static_cast<int>(natives.size()),
                                                       natives.data(), native_statuses);
    return finish_all(mix, statuses, error, native_statuses);
  }
};

struct TestAll {
  static constexpr bool kBlocks = false;
  int* flag;
  MPI_Status* statuses;

  int library(int count, MPI_Request* requests) const {
    return real::Testall(count, requests, flag, statuses);
  }
  template <class Seen>
  void notify(const Seen& seen) const {
    for (int i = 0; *flag && i < seen.natives(); ++i) seen.notify(i);
  }
  int mixed(MixedRequests& mix) const {
    if (!mix.any_own()) {
      advance();
      const int error = library(mix.natives(), mix.requests());
      notify_seen(*this, mix, error);
      return error;
    }
    *flag = 0;
    if (!mix.ready()) {
      advance();
      if (!mix.ready()) {
        awaited_by_testall.set(mix.requests(), mix.unready_place());
        return MPI_SUCCESS;
      }
    }
    MPI_Status* const native_statuses = mix.statuses(static_cast<std::size_t>(mix.natives()));
    int error = MPI_SUCCESS;
    *flag = 1;
    if (mix.natives()) error = real::Testall(mix.natives(), mix.native(), flag, native_statuses);
    if (!*flag && error == MPI_SUCCESS) return MPI_SUCCESS;
    return finish_all(mix, statuses, error, native_statuses);
  }
};

struct WaitAny {
  static constexpr bool kBlocks = true;
  static constexpr bool kFollows = true;
  int* index;
  MPI_Status* status;

  int library(int count, MPI_Request* requests) const {
    return real::Waitany(count, requests, index, status);
  }
  template <class Seen>
  void notify(const Seen& seen) const {
    if (*index != MPI_UNDEFINED) seen.notify(*index);
  }
  template <class Array>
  int mixed(Array& array) const {
    Pause pause;
    int error = MPI_SUCCESS;
    while (!look_any(array, index, status, &error)) {
      advance();
      pause();
    }
    return error;
  }
};

struct TestAny {
  static constexpr bool kBlocks = false;
  static constexpr bool kFollows = true;
  int* index;
  int* flag;
  MPI_Status* status;

  int library(int count, MPI_Request* requests) const {
    return real::Testany(count, requests, index, flag, status);
  }
  template <class Seen>
  void notify(const Seen& seen) const {
    if (*flag && *index != MPI_UNDEFINED) seen.notify(*index);
  }
  template <class Array>
  int mixed(Array& array) const {
    advance();
    int error = MPI_SUCCESS;
    *index = MPI_UNDEFINED;
    *flag = look_any(array, index, status, &error);
    return error;
  }
};

struct WaitSome {
  static constexpr bool kBlocks = true;
  static constexpr bool kFollows = true;
  int* outcount;
  int* indices;
  MPI_Status* statuses;

  int library(int count, MPI_Request* requests) const {
    return real::Waitsome(count, requests, outcount, indices, statuses);
  }
  template <class Seen>
  void notify(const Seen& seen) const {
    notify_some(seen, *outcount, indices);
  }
  template <class Array>
  int mixed(Array& array) const {
    Pause pause;
    int error = MPI_SUCCESS;
    while (!look_some(array, outcount, indices, statuses, &error)) {
      advance();
      pause();
    }
    return error;
  }
};

struct TestSome {
  static constexpr bool kBlocks = false;
  static constexpr bool kFollows = true;
  int* outcount;
  int* indices;
  MPI_Status* statuses;

  int library(int count, MPI_Request* requests) const {
    return real::Testsome(count, requests, outcount, indices, statuses);
  }
  template <class Seen>
  void notify(const Seen& seen) const {
    notify_some(seen, *outcount, indices);
  }
  template <class Array>
  int mixed(Array& array) const {
    advance();
    int error = MPI_SUCCESS;
    look_some(array, outcount, indices, statuses, &error);
    return error;
  }
};

}  // namespace

int wait(MPI_Request* request, MPI_Status* status) {
  return dispatch_known(request, WaitOne{status});
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  Operation* const operation = find(*request);
  if (!operation) return real::Test(request, flag, status);
  *flag = operation->ready();
  return *flag ? finish(request, *operation, status) : MPI_SUCCESS;
}

}  // namespace requests

using namespace requests;

int on_Wait(MPI_Request* request, MPI_Status* status) { return dispatch(request, WaitOne{status}); }

int on_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  return dispatch(request, TestOne{flag, status});
}

int on_Waitall(int count, MPI_Request array_of_requests[], MPI_Status* array_of_statuses) {
  return dispatch(count, array_of_requests, WaitAll{array_of_statuses});
}

int on_Testall(int count, MPI_Request array_of_requests[], int* flag,
               MPI_Status* array_of_statuses) {
  if (awaited_by_testall.any(count, array_of_requests)) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  return dispatch(count, array_of_requests, TestAll{flag, array_of_statuses});
}

int on_Waitany(int count, MPI_Request array_of_requests[], int* index, MPI_Status* status) {
  return dispatch(count, array_of_requests, WaitAny{index, status});
}

int on_Testany(int count, MPI_Request array_of_requests[], int* index, int* flag,
               MPI_Status* status) {
  return dispatch(count, array_of_requests, TestAny{index, flag, status});
}

int on_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                MPI_Status* array_of_statuses) {
  return dispatch(incount, array_of_requests,
                  WaitSome{outcount, array_of_indices, array_of_statuses});
}

int on_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                MPI_Status* array_of_statuses) {
  return dispatch(incount, array_of_requests,
                  TestSome{outcount, array_of_indices, array_of_statuses});
}

namespace {

/// After take(): the library has not freed the request.
void stays_known(MPI_Request handle, const KnownHandle& taken) {
  if (taken.operation) return stand_behind(handle, *taken.operation);
  if (!taken.observer) return;
  Watch watch{handle, taken.watch, taken.observer, taken.cookie};
  put_back(watch, false);
}

}  // namespace

int on_Request_free(MPI_Request* request) {
  if (HOB_LIKELY(only_native(*request))) return real::Request_free(request);
  const MPI_Request handle = *request;
  const KnownHandle entry = take(handle);
  if (!entry.pooled) {
    const int error = real::Request_free(request);
    if (error != MPI_SUCCESS) {
      stays_known(handle, entry);
      return error;
    }
  }
  if (entry.operation) entry.operation->abandon();
  if (entry.observer) entry.observer->completed(entry.cookie, true);
  *request = MPI_REQUEST_NULL;
  return MPI_SUCCESS;
}

int on_Cancel(MPI_Request* request) {
  Operation* operation = requests::find(*request);
  if (!operation) return real::Cancel(request);
  operation->cancel();
  return MPI_SUCCESS;
}

int on_Start(MPI_Request* request) {
  Operation* operation = requests::find(*request);
  return operation && operation->persistent() ? operation->start() : real::Start(request);
}

int on_Startall(int count, MPI_Request array_of_requests[]) {
  if (HOB_LIKELY(all_unknown(count, array_of_requests)) || count <= 0)
    return real::Startall(count, array_of_requests);
  for (int i = 0; i < count; ++i)
    if (const int error = on_Start(&array_of_requests[i]); error != MPI_SUCCESS) return error;
  return MPI_SUCCESS;
}

}  // namespace hob::mpi
