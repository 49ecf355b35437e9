// The program's own functions of MPICH's extensions: each gets a state, by which Hob finds them.
#include <memory>

#include "mpi/core/handle.hpp"
#include "mpi/core/program_guard.hpp"
#include "mpi/core/unreported_errors.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"

#if HOB_HAS_X_WIN_CREATE_ERRHANDLER_X

namespace hob::mpi {
namespace {

// ---- Error handlers

template <class Object>
struct StatefulHandler {
  void (*function)(Object, int, void*);
  MPIX_Destructor_function* destructor;
  void* state;

  static void call(Object object, int code, void* state) {
    const auto* own = static_cast<const StatefulHandler*>(state);
    const UnreportedError error{
        notify, handle_bits(object), code, {reinterpret_cast<void*>(own->function), own->state}};
    if (report_later(error)) return;
    const ProgramGuard guard;
    own->function(object, code, own->state);
  }
  /// The same later, when the handler may be gone.
  static void notify(const UnreportedError& error) {
    const auto its = reinterpret_cast<decltype(function)>(error.more[0]);
    its(handle_of<Object>(error.object), error.code, error.more[1]);
  }
  static void destroy(void* state) {
    const std::unique_ptr<const StatefulHandler> own(static_cast<const StatefulHandler*>(state));
    const ProgramGuard guard;
    if (own->destructor) own->destructor(own->state);
  }
};

template <class Object, class Create>
int create_handler(Create create, void (*function)(Object, int, void*),
                   MPIX_Destructor_function* destructor, void* state, MPI_Errhandler* handler) {
  if (!function || !handler) return create(function, destructor, state, handler);
  std::unique_ptr<StatefulHandler<Object>> own(
      new StatefulHandler<Object>{function, destructor, state});
  const int error =
      create(StatefulHandler<Object>::call, StatefulHandler<Object>::destroy, own.get(), handler);
  if (error == MPI_SUCCESS) static_cast<void>(own.release());
  return error;
}

}  // namespace

int on_X_Comm_create_errhandler_x(MPIX_Comm_errhandler_function_x* function,
                                  MPIX_Destructor_function* destructor, void* state,
                                  MPI_Errhandler* handler) {
  return create_handler<MPI_Comm>(real::X_Comm_create_errhandler_x, function, destructor, state,
                                  handler);
}

int on_X_Win_create_errhandler_x(MPIX_Win_errhandler_function_x* function,
                                 MPIX_Destructor_function* destructor, void* state,
                                 MPI_Errhandler* handler) {
  return create_handler<MPI_Win>(real::X_Win_create_errhandler_x, function, destructor, state,
                                 handler);
}

int on_X_File_create_errhandler_x(MPIX_File_errhandler_function_x* function,
                                  MPIX_Destructor_function* destructor, void* state,
                                  MPI_Errhandler* handler) {
  return create_handler<MPI_File>(real::X_File_create_errhandler_x, function, destructor, state,
                                  handler);
}

int on_X_Session_create_errhandler_x(MPIX_Session_errhandler_function_x* function,
                                     MPIX_Destructor_function* destructor, void* state,
                                     MPI_Errhandler* handler) {
  return create_handler<MPI_Session>(real::X_Session_create_errhandler_x, function, destructor,
                                     state, handler);
}

}  // namespace hob::mpi

#endif

#if HOB_HAS_X_ASYNC_START

namespace hob::mpi {
namespace {

/// Of one asynchronous task; gone when it is done.
struct Async {
  MPIX_Async_poll_function* poll;
  void* state;

  static int call(MPIX_Async_thing thing) {
    auto* own = static_cast<Async*>(real::X_Async_get_state(thing));
    int done = 0;
    {
      const ProgramGuard guard;
      done = own->poll(thing);
    }
    if (done == MPIX_ASYNC_DONE) delete own;
    return done;
  }
};

}  // namespace

int on_X_Async_start(MPIX_Async_poll_function* poll, void* state, MPIX_Stream stream) {
  return real::X_Async_start(Async::call, new Async{poll, state}, stream);
}

int on_X_Async_spawn(MPIX_Async_thing thing, MPIX_Async_poll_function* poll, void* state,
                     MPIX_Stream stream) {
  return real::X_Async_spawn(thing, Async::call, new Async{poll, state}, stream);
}

void* on_X_Async_get_state(MPIX_Async_thing thing) {
  return static_cast<Async*>(real::X_Async_get_state(thing))->state;
}

}  // namespace hob::mpi

#endif

#if HOB_HAS_X_GREQUEST_START

namespace hob::mpi {
namespace {

struct Polled {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* release;
  MPI_Grequest_cancel_function* cancel;
  MPIX_Grequest_poll_function* poll;
  void* state;

  static const Polled* of(void* state) { return static_cast<const Polled*>(state); }
  static int call_query(void* state, MPI_Status* status) {
    const ProgramGuard guard;
    return of(state)->query(of(state)->state, status);
  }
  static int call_release(void* state) {
    const std::unique_ptr<const Polled> own(of(state));
    const ProgramGuard guard;
    return own->release(own->state);
  }
  static int call_cancel(void* state, int complete) {
    const ProgramGuard guard;
    return of(state)->cancel(of(state)->state, complete);
  }
  static int call_poll(void* state, MPI_Status* status) {
    const ProgramGuard guard;
    return of(state)->poll(of(state)->state, status);
  }
};

}  // namespace

int on_X_Grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* release,
                        MPI_Grequest_cancel_function* cancel, MPIX_Grequest_poll_function* poll,
                        MPIX_Grequest_wait_function* wait, void* state, MPI_Request* request) {
  // A wait function gets the states of several requests, Hob's among them: without one, the library
  // polls.
  if (!query || !release || !cancel || !poll || !request)
    return real::X_Grequest_start(query, release, cancel, poll, wait, state, request);
  std::unique_ptr<Polled> own(new Polled{query, release, cancel, poll, state});
  const int error =
      real::X_Grequest_start(Polled::call_query, Polled::call_release, Polled::call_cancel,
                             Polled::call_poll, nullptr, own.get(), request);
  if (error == MPI_SUCCESS) static_cast<void>(own.release());
  return error;
}

}  // namespace hob::mpi

#endif
