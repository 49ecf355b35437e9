// Every function that the program registers is called through one of Hob's that opens the depth
// guard (program_guard.hpp). How that one finds the program's: attribute callbacks and generalized
// requests have an extra state, which Hob replaces; error handlers have none, so each has a
// function of its own from a pool.
//
// What the Fortran bindings register has other arguments: they notify the library after the call,
// and their functions are left as they are. Error handlers have the same in both languages but for
// the handle. Functions of MPI_Op_create must not call MPI.
#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "mpi/core/handle.hpp"
#include "mpi/core/program_guard.hpp"
#include "mpi/core/program_world.hpp"
#include "mpi/core/unreported_errors.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {

namespace {

/// Communicators are shown by the handle that the program knows (with ghosts, MPI_COMM_WORLD is
/// one). Handles of all kinds are one type in some libraries, hence this parameter of templates.
template <class Object>
Object same(Object object) {
  return object;
}

/// Whether one of the library's Fortran bindings makes this call.
bool from_fortran(const void* caller) {
  Dl_info where{};
  if (!dladdr(caller, &where) || !where.dli_fname) return false;
  const char* slash = std::strrchr(where.dli_fname, '/');
  const char* file = slash ? slash + 1 : where.dli_fname;
  return std::strstr(file, "fort") || std::strstr(file, "mpif") || std::strstr(file, "usempi");
}

// ---- Error handlers

/// More functions of one kind than any program has been seen to register. Those of a program that
/// has more are called without a guard.
constexpr std::size_t kHandlers = 64;

/// Some libraries pass two more pointers (Open MPI: a text, and a null pointer).
template <class Object>
using Handler = void (*)(Object*, int*, ...);

/// What a handler in Fortran gets is a number, which is no communicator in some libraries.
constexpr bool kHandlesAreNumbers = sizeof(MPI_Comm) == sizeof(int);

/// One function for each place, and the program's handlers in these places. A function that is
/// registered again keeps its place; places are never given back, since the library may go on using
/// a handler that was freed. Global: an error handler has no argument to find it by.
template <class Object, Object (*shown)(Object)>
class Handlers {
 public:
  Handler<Object> guarded(Handler<Object> handler) {
    const std::lock_guard guard(table.lock);
    for (std::size_t i = 0; i < kHandlers; ++i) {
      Handler<Object> there = table.of_program[i].load(std::memory_order_relaxed);
      if (there && there != handler) continue;
      table.of_program[i].store(handler, std::memory_order_release);
      return kFunctions[i];
    }
    return handler;
  }

 private:
  template <std::size_t place>
  static void call(Object* object, int* code, ...) {
    void *first = nullptr, *second = nullptr;
    if constexpr (library::kTraits.passes_error_texts) {
      std::va_list more;
      va_start(more, code);
      first = va_arg(more, void*);
      second = va_arg(more, void*);
      va_end(more);
    }
    UnreportedError error{notify<place>, 0, *code, {first, second}};
    Object handle;
    std::memcpy(&handle, object, sizeof handle);
    error.object = handle_bits(handle);
    if (report_later(error)) return;
    const ProgramGuard guard;
    handler_at<place>()(shown == same<Object> ? object : &(handle = shown(handle)), code, first,
                        second);
  }
  /// The same later.
  template <std::size_t place>
  static void notify(const UnreportedError& error) {
    auto known = shown(handle_of<Object>(error.object));
    int code = error.code;
    handler_at<place>()(&known, &code, error.more[0], error.more[1]);
  }
  template <std::size_t place>
  static Handler<Object> handler_at() {
    return table.of_program[place].load(std::memory_order_acquire);
  }
  template <std::size_t... places>
  static constexpr std::array<Handler<Object>, kHandlers> all(std::index_sequence<places...>) {
    return {call<places>...};
  }

  struct Table {
    std::mutex lock;
    std::array<std::atomic<Handler<Object>>, kHandlers> of_program{};
  };
  /// Of each kind of object: the library knows a handler by its function alone.
  static inline constinit Table table;
  static constexpr std::array<Handler<Object>, kHandlers> kFunctions =
      all(std::make_index_sequence<kHandlers>());
};

template <class Object, Object (*shown)(Object) = same<Object>>
Handler<Object> guarded(Handler<Object> handler) {
  if (!handler) return handler;
  return Handlers<Object, shown>().guarded(handler);
}

// ---- Attributes

/// Some libraries' predefined functions are small numbers, and "no function" is null.
template <class Function>
bool is_function(Function* function) {
  return reinterpret_cast<std::uintptr_t>(function) > 4096;
}

/// Copy and delete functions of one kind of object, and the program's state.
template <class Object, Object (*shown)(Object) = same<Object>>
struct Attribute {
  using Copy = int(Object, int, void*, void*, void*, int*);
  using Delete = int(Object, int, void*, void*);
  Copy* copy;
  Delete* remove;
  void* state;

  static int call_copy(Object object, int key, void* state, void* in, void* out, int* flag) {
    const auto* attribute = static_cast<const Attribute*>(state);
    const LeavingGuard guard;
    return attribute->copy(shown(object), key, attribute->state, in, out, flag);
  }
  static int call_delete(Object object, int key, void* value, void* state) {
    const auto* attribute = static_cast<const Attribute*>(state);
    const LeavingGuard guard;
    return attribute->remove(shown(object), key, value, attribute->state);
  }

  /// The same three always get the same object, which lives as long as the process: attributes may
  /// outlive their key.
  static Attribute* of(Copy* copy, Delete* remove, void* state) {
    static std::mutex lock;
    static auto* const known =
        new std::map<std::tuple<void*, void*, void*>, std::unique_ptr<Attribute>>;
    const std::lock_guard guard(lock);
    auto& place = (*known)[{reinterpret_cast<void*>(copy), reinterpret_cast<void*>(remove), state}];
    if (!place) place.reset(new Attribute{copy, remove, state});
    return place.get();
  }
};

template <FreedKind kind, class Object, Object (*shown)(Object) = same<Object>, class Create>
int create_keyval(Create create, typename Attribute<Object, shown>::Copy* copy,
                  typename Attribute<Object, shown>::Delete* remove, int* key, void* state,
                  const void* caller) {
  using Kind = Attribute<Object, shown>;
  if (is_function(remove)) delete_callbacks.fetch_or(kind, std::memory_order_relaxed);
  if ((!is_function(copy) && !is_function(remove)) || from_fortran(caller))
    return create(copy, remove, key, state);
  return create(is_function(copy) ? Kind::call_copy : copy,
                is_function(remove) ? Kind::call_delete : remove, key,
                Kind::of(copy, remove, state));
}

// ---- Generalized requests

/// Of one request; gone after its free function.
struct Generalized {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* release;
  MPI_Grequest_cancel_function* cancel;
  void* state;

  static int call_query(void* state, MPI_Status* status) {
    const auto* own = static_cast<const Generalized*>(state);
    const LeavingGuard guard;
    return own->query(own->state, status);
  }
  static int call_release(void* state) {
    const std::unique_ptr<const Generalized> own(static_cast<const Generalized*>(state));
    const LeavingGuard guard;
    return own->release(own->state);
  }
  static int call_cancel(void* state, int complete) {
    const auto* own = static_cast<const Generalized*>(state);
    const LeavingGuard guard;
    return own->cancel(own->state, complete);
  }
};

}  // namespace

int on_Comm_create_errhandler(MPI_Comm_errhandler_function* handler, MPI_Errhandler* errhandler) {
  const bool number = !kHandlesAreNumbers && from_fortran(calling_thread.registrar);
  return real::Comm_create_errhandler(
      number ? guarded<MPI_Comm>(handler) : guarded<MPI_Comm, as_program_knows>(handler),
      errhandler);
}

int on_Win_create_errhandler(MPI_Win_errhandler_function* handler, MPI_Errhandler* errhandler) {
  return real::Win_create_errhandler(guarded<MPI_Win>(handler), errhandler);
}

int on_File_create_errhandler(MPI_File_errhandler_function* handler, MPI_Errhandler* errhandler) {
  return real::File_create_errhandler(guarded<MPI_File>(handler), errhandler);
}

int on_Session_create_errhandler(MPI_Session_errhandler_function* handler,
                                 MPI_Errhandler* errhandler) {
  return real::Session_create_errhandler(guarded<MPI_Session>(handler), errhandler);
}

int on_Comm_create_keyval(MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* remove,
                          int* key, void* state) {
  return create_keyval<kCommunicators, MPI_Comm, as_program_knows>(
      real::Comm_create_keyval, copy, remove, key, state, calling_thread.registrar);
}

int on_Win_create_keyval(MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* remove,
                         int* key, void* state) {
  return create_keyval<kWindows, MPI_Win>(real::Win_create_keyval, copy, remove, key, state,
                                          calling_thread.registrar);
}

int on_Type_create_keyval(MPI_Type_copy_attr_function* copy, MPI_Type_delete_attr_function* remove,
                          int* key, void* state) {
  return create_keyval<kDatatypes, MPI_Datatype>(real::Type_create_keyval, copy, remove, key, state,
                                                 calling_thread.registrar);
}

int on_Keyval_create(MPI_Copy_function* copy, MPI_Delete_function* remove, int* key, void* state) {
  return create_keyval<kCommunicators, MPI_Comm, as_program_knows>(
      real::Keyval_create, copy, remove, key, state, calling_thread.registrar);
}

int on_Grequest_start(MPI_Grequest_query_function* query, MPI_Grequest_free_function* release,
                      MPI_Grequest_cancel_function* cancel, void* state, MPI_Request* request) {
  if (!query || !release || !cancel || !request || from_fortran(calling_thread.registrar))
    return real::Grequest_start(query, release, cancel, state, request);
  std::unique_ptr<Generalized> own(new Generalized{query, release, cancel, state});
  const int error = real::Grequest_start(Generalized::call_query, Generalized::call_release,
                                         Generalized::call_cancel, own.get(), request);
  if (error == MPI_SUCCESS) static_cast<void>(own.release());
  return error;
}

}  // namespace hob::mpi
