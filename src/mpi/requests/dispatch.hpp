// The way of every call that waits for requests, tests them or asks for their status: what the
// library may do alone, and what it may not. A call is a class that says what differs:
//
//     kBlocks                    the library's call blocks
//     kFollows                   of calls on arrays: it is made as often as there are requests
//     library(...)               the library's own call
//     notify(seen)               which requests the library has completed, without an error:
//                                seen.notify(i)
//     mixed(array)               an array with operations of Hob's, or while Hob's must advance: a
//                                MixedRequests; a Followed, too, of those that follow
// and of one request:
//     kOnlyAsks                  the request stays
//     native(request)            the library's request, while Hob's must advance
//     told()                     whether the library has completed it, without an error
//     inactive()                 a persistent operation of Hob's that is not started
//     own(request, operation)    an operation of Hob's
//
// Private to the request layer.
#pragma once

#include <new>

#include "mpi/progress/progress.hpp"
#include "mpi/requests/array.hpp"
#include "mpi/requests/followed.hpp"
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

/// The library has completed `number` requests, these ones, or MPI_UNDEFINED.
template <class Seen>
void notify_some(const Seen& seen, int number, const int* which) {
  if (number == MPI_UNDEFINED) return;
  for (int i = 0; i < number; ++i) seen.notify(which[i]);
}

/// After the library's call. What it has completed before an error is not the program's to read:
/// only the handles show it, which are replaced.
template <class Call, class Seen>
void notify_seen(const Call& call, const Seen& seen, int error) {
  if (HOB_LIKELY(error == MPI_SUCCESS)) return call.notify(seen);
  for (int i = 0; i < seen.natives(); ++i)
    if (seen.replaced(i)) seen.failed(i);
}

/// Of a request that Hob knows, or while Hob's things must advance.
template <class Call>
[[gnu::noinline]] int dispatch_known(MPI_Request* request, const Call& call) {
  const KnownHandle entry = look_up(*request);
  if (!entry.operation) {
    if (entry.observer && !many_threads) entry.observer->asked(entry.cookie);
    Watched watched(1, request);
    const int error = call.native(request);
    watched.returned();
    if (HOB_UNLIKELY(error != MPI_SUCCESS)) {
      if (watched.replaced(0)) watched.failed(0);
      return error;
    }
    if (!call.told()) return error;
    const bool tells_nothing = entry.observer && !entry.observer->is_acquire();
    watched.notify(0);
    if constexpr (requires { Call::kOnlyAsks; })
      // It is complete and still there: waiting for it shows nothing either.
      if (tells_nothing) note_no_acquire(*request);
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

/// The library serves the whole array.
template <class Seen, class Call>
[[gnu::always_inline]] inline int all_in_library(int count, MPI_Request* requests,
                                                 const Call& call) {
  Seen seen(count, requests);
  const int error = in_library(call, count, requests);
  seen.returned();
  notify_seen(call, seen, error);
  return error;
}

/// The array that the program passes again and again.
template <class Call>
[[gnu::noinline]] int follow(Followed& followed, int count, MPI_Request* requests,
                             const Call& call) {
  struct End {
    Followed& followed;
    bool returned = false;
    ~End() { followed.end(returned); }
  } end{followed};
  const int error = followed.any_own() || blocking_needs_care()
                        ? call.mixed(followed)
                        : all_in_library<Remembered>(count, requests, call);
  end.returned = true;
  return error;
}

/// Of an array in which Hob knows a request, or while Hob's things must advance.
template <class Call>
[[gnu::noinline]] int dispatch_known(int count, MPI_Request* requests, const Call& call) {
  if (count == 1 && !many_threads)
    if (const KnownHandle entry = look_up(*requests); entry.observer)
      entry.observer->asked(entry.cookie);
  if (HOB_LIKELY(only_watched())) {
    return HOB_LIKELY(!many_threads) ? all_in_library<Remembered>(count, requests, call)
                                     : all_in_library<Watched>(count, requests, call);
  }
  if constexpr (requires { Call::kFollows; })
    if (Followed& followed = Followed::only();
        count >= Followed::kFewest && followed.begin(count, requests))
      return follow(followed, count, requests, call);
  MixedRequests mix(count, requests);
  const bool alone = !mix.any_own() && !blocking_needs_care();
  const int error = alone ? in_library(call, count, requests) : call.mixed(mix);
  mix.returned();
  if (alone) notify_seen(call, mix, error);
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
