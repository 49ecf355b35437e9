// Every wait and test function, with requests of Hob's and of the library's mixed.
#include "mpi/pmpi/hooks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/requests/completion.hpp"
#include "mpi/requests/dispatch.hpp"
#include "mpi/requests/known.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi {
namespace requests {
namespace {

/// Programs poll thousands of requests at once (FDS does), and one that is not ready is answer
/// enough: it is remembered, and those before it were ready and stay so. Nothing is remembered
/// while the program has several threads.
class Awaited {
 public:
  /// This one of Hob's was not ready when the array was tested.
  void set(const MPI_Request* requests, int place) {
    if (many_threads) return;
    requests_ = requests;
    place_ = place;
  }

  /// Whether one of Hob's, from that one on, is not ready yet; what is under way has advanced then.
  /// False: all of the array must be looked at.
  bool any(int count, const MPI_Request* requests) {
    if (many_threads || requests != requests_) return false;
    if (skip_ready(count, requests)) {
      advance();
      if (skip_ready(count, requests)) return true;
    }
    requests_ = nullptr;
    return false;
  }

 private:
  bool skip_ready(int count, const MPI_Request* requests) {
    for (; place_ < count; ++place_) {
      Operation* const operation = find(requests[place_]);
      if (operation && operation->active() && !operation->ready()) return true;
    }
    return false;
  }

  const MPI_Request* requests_ = nullptr;
  int place_ = 0;
};

/// Where a poll asks the kernel, it also holds up the senders that share the machine, and the
/// messages that come meanwhile are cheaper to fetch together: while many are missing, Hob lets
/// some time pass between polls without a result (docs/developers/takeover.md).
class PollPacing {
 public:
  /// `awaited`: all need nothing but that messages are found (Operation::awaited).
  explicit PollPacing(bool awaited) : awaited_(awaited) {}

  /// advance(), and the time to let pass. So many are missing.
  void poll(std::size_t missing) {
    if (!awaited_ || missing < tuning::kManyMissing) return advance();
    const std::uint64_t found = own_progress.messages_found.load(std::memory_order_relaxed);
    const std::uint64_t before = ticks();
    advance();
    if (own_progress.messages_found.load(std::memory_order_relaxed) != found) return;
    const std::uint64_t took = ticks() - before;
    // Libraries that look at shared memory ask the kernel, too, but only now and then.
    const bool first = quickest_ == UINT64_MAX;
    quickest_ = std::min(quickest_, took);
    if (first || quickest_ < ticks_in(tuning::kKernelPoll)) return;
    const std::uint64_t until = before + took + ticks_in(tuning::kRestBetweenPolls);
    while (ticks() < until) relax();
  }

 private:
  bool awaited_;
  std::uint64_t quickest_ = UINT64_MAX;
};

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

struct WaitAll : AnswerOfAll {
  static constexpr bool kBlocks = true;

  int library(int count, MPI_Request* requests) const {
    return real::Waitall(count, requests, statuses);
  }
  int mixed(RequestArray& array) const {
    if (!array.any_own()) {
      const int error = native_waitall(array.count(), array.requests(), statuses);
      notify_after(*this, array, error);
      return error;
    }
    array.complete();
    if (!array.left_to_library()) {
      PollPacing pacing(array.awaited());
      for (Pause pause; !array.left_to_library(); pause()) pacing.poll(array.unready());
    }
    std::vector<MPI_Request>& natives = array.with_missing();
    MPI_Status* const native_statuses = array.statuses(natives.size());
    const int error = natives.empty() ? MPI_SUCCESS
                                      : native_waitall(static_cast<int>(natives.size()),
                                                       natives.data(), native_statuses);
    return finish_all(array, statuses, error, native_statuses);
  }
};

struct TestAll : AnswerOfAll {
  static constexpr bool kBlocks = false;

  int library(int count, MPI_Request* requests) const {
    return real::Testall(count, requests, flag, statuses);
  }
  int mixed(RequestArray& array) const {
    if (!array.any_own()) {
      advance();
      const int error = library(array.count(), array.requests());
      notify_after(*this, array, error);
      return error;
    }
    *flag = 0;
    if (!array.ready()) {
      advance();
      if (!array.ready()) {
        awaited_by_testall.set(array.requests(), array.unready_place());
        return MPI_SUCCESS;
      }
    }
    const int natives = array.natives();
    MPI_Status* const native_statuses = array.statuses(static_cast<std::size_t>(natives));
    int error = MPI_SUCCESS;
    *flag = 1;
    if (natives != 0)
      error = real::Testall(natives, array.native_requests(), flag, native_statuses);
    if (!*flag && error == MPI_SUCCESS) return MPI_SUCCESS;
    return finish_all(array, statuses, error, native_statuses);
  }
};

template <bool waits>
struct CompleteAny : AnswerOfAny {
  static constexpr bool kBlocks = waits;
  static constexpr bool kRepeated = true;

  int library(int count, MPI_Request* requests) const {
    return waits ? real::Waitany(count, requests, index, status)
                 : real::Testany(count, requests, index, flag, status);
  }
  int mixed(RequestArray& array) const {
    int error = MPI_SUCCESS;
    const auto look = [&] { return look_any(array, index, status, &error); };
    if constexpr (waits) {
      advance_until(look);
    } else {
      advance();
      *index = MPI_UNDEFINED;
      *flag = look();
    }
    return error;
  }
};

template <bool waits>
struct CompleteSome : AnswerOfSome {
  static constexpr bool kBlocks = waits;
  static constexpr bool kRepeated = true;

  int library(int count, MPI_Request* requests) const {
    return (waits ? real::Waitsome : real::Testsome)(count, requests, outcount, indices, statuses);
  }
  int mixed(RequestArray& array) const {
    int error = MPI_SUCCESS;
    const auto look = [&] { return look_some(array, outcount, indices, statuses, &error); };
    if constexpr (waits) {
      advance_until(look);
    } else {
      advance();
      look();
    }
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
  return dispatch(request, AskOne<true>{flag, status});
}

int on_Waitall(int count, MPI_Request array_of_requests[], MPI_Status* array_of_statuses) {
  return dispatch(count, array_of_requests, WaitAll{{nullptr, array_of_statuses}});
}

int on_Testall(int count, MPI_Request array_of_requests[], int* flag,
               MPI_Status* array_of_statuses) {
  if (awaited_by_testall.any(count, array_of_requests)) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  return dispatch(count, array_of_requests, TestAll{{flag, array_of_statuses}});
}

int on_Waitany(int count, MPI_Request array_of_requests[], int* index, MPI_Status* status) {
  return dispatch(count, array_of_requests, CompleteAny<true>{{index, nullptr, status}});
}

int on_Testany(int count, MPI_Request array_of_requests[], int* index, int* flag,
               MPI_Status* status) {
  return dispatch(count, array_of_requests, CompleteAny<false>{{index, flag, status}});
}

int on_Waitsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                MPI_Status* array_of_statuses) {
  return dispatch(incount, array_of_requests,
                  CompleteSome<true>{{outcount, array_of_indices, array_of_statuses}});
}

int on_Testsome(int incount, MPI_Request array_of_requests[], int* outcount, int array_of_indices[],
                MPI_Status* array_of_statuses) {
  return dispatch(incount, array_of_requests,
                  CompleteSome<false>{{outcount, array_of_indices, array_of_statuses}});
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
  Operation* const persistent = started_through(*request);
  if (HOB_LIKELY(!persistent && only_native(*request))) return real::Request_free(request);
  const MPI_Request handle = *request;
  KnownHandle entry = take(handle);
  if (!entry.pooled) {
    const int error = real::Request_free(request);
    if (error != MPI_SUCCESS) {
      stays_known(handle, entry);
      return error;
    }
  }
  if (persistent) {
    no_longer_start_through(handle);
    entry.operation = persistent;
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
  Operation* const operation = started_through(*request);
  return !operation || operation->leaves_start() ? real::Start(request) : operation->start();
}

int on_Startall(int count, MPI_Request array_of_requests[]) {
  if (HOB_LIKELY(none_started_through()) || count <= 0)
    return real::Startall(count, array_of_requests);
  int first = 0;  // of those that the library is to start
  const auto start_others = [&](int end) {
    return first == end ? MPI_SUCCESS : real::Startall(end - first, array_of_requests + first);
  };
  for (int i = 0; i < count; ++i) {
    Operation* const operation = started_through(array_of_requests[i]);
    if (!operation || operation->leaves_start()) continue;
    int error = start_others(i);
    if (error == MPI_SUCCESS) error = operation->start();
    if (error != MPI_SUCCESS) return error;
    first = i + 1;
  }
  return start_others(count);
}

}  // namespace hob::mpi
