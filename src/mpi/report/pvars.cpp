// Hob's counters as performance variables of MPI's tool interface (MPI 4.1, section 15.3): tools
// read them while the program runs. They come before the MPI library's own, whose number may grow;
// all that is not Hob's goes to the library with its own index.
//
// Each is the sum of this process (registry.hpp), bound to no object, always running and
// read-only. Handles may be used by any thread; reading walks the process's windows, so a thread
// that reads while another is inside MPI needs MPI_THREAD_MULTIPLE, as for any MPI call.
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "base/lasting.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/report/registry.hpp"

/// The MPI library's function of this name, typed.
#define HOB_LIBRARY(name)                                                  \
  ([] {                                                                    \
    static auto* const function =                                          \
        reinterpret_cast<decltype(&name)>(real::find_or_abort("P" #name)); \
    return function;                                                       \
  }())

namespace hob::mpi {
namespace {

/// How many variables are Hob's.
int own_count() { return static_cast<int>(all_counters().size()); }
constexpr std::string_view kPrefix = "hob_";

bool is_own(int index) { return 0 <= index && index < own_count(); }
int library_index(int index) { return index < own_count() ? index : index - own_count(); }

const report::CounterInfo& info_of(int index) {
  return all_counters()[static_cast<std::size_t>(index)];
}
int class_of(int index) {
  return info_of(index).kind == report::Kind::level ? MPI_T_PVAR_CLASS_LEVEL
                                                    : MPI_T_PVAR_CLASS_COUNTER;
}

/// MPI_SUCCESS, or what the library says to any call while the tool interface is not initialised.
int initialised() {
  int count = 0;
  return HOB_LIBRARY(MPI_T_pvar_get_num)(&count);
}

/// As MPI returns strings: `length` is the buffer's size, and then the length of the text
/// with its final 0, or, without a buffer, what is needed.
void give(std::string_view text, char* buffer, int* length) {
  if (!length) return;
  if (buffer && *length > 0) {
    text = text.substr(0, static_cast<std::size_t>(*length) - 1);
    text.copy(buffer, text.size());
    buffer[text.size()] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
}

template <class Value>
void give(Value value, Value* to) {
  if (to) *to = value;
}

/// A tool's handle of one of Hob's variables.
struct Handle {
  MPI_T_pvar_session session;
  int index;
};

class Handles {
 public:
  MPI_T_pvar_handle add(MPI_T_pvar_session session, int index) {
    const std::lock_guard guard(lock_);
    all_.push_back(std::make_unique<Handle>(Handle{session, index}));
    count_.store(all_.size(), std::memory_order_relaxed);
    return reinterpret_cast<MPI_T_pvar_handle>(all_.back().get());
  }

  /// Whether a handle is Hob's; its contents then.
  bool find(MPI_T_pvar_handle handle, Handle& found) {
    if (count_.load(std::memory_order_relaxed) == 0) return false;
    const std::lock_guard guard(lock_);
    for (const auto& each : all_) {
      if (reinterpret_cast<MPI_T_pvar_handle>(each.get()) != handle) continue;
      found = *each;
      return true;
    }
    return false;
  }

  template <class Condition>
  void remove_if(Condition&& condition) {
    const std::lock_guard guard(lock_);
    std::erase_if(all_, condition);
    count_.store(all_.size(), std::memory_order_relaxed);
  }

 private:
  std::mutex lock_;
  std::vector<std::unique_ptr<Handle>> all_;
  std::atomic<std::size_t> count_{0};
};

Handles& handles() { return lasting<Handles>(); }

/// A call that needs a handle of the session's: for one of Hob's returns `own`, unless the session
/// is another one; for the library's, what the library says.
template <class Function, class... More>
int call_with(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int own, Function* library,
              More... more) {
  Handle found{};
  if (!handles().find(handle, found)) return library(session, handle, more...);
  return found.session == session ? own : MPI_T_ERR_INVALID_SESSION;
}

}  // namespace
}  // namespace hob::mpi

using namespace hob::mpi;

extern "C" {

HOB_EXPORT int MPI_T_pvar_get_num(int* count) {
  const int result = HOB_LIBRARY(MPI_T_pvar_get_num)(count);
  if (result == MPI_SUCCESS && count) *count += own_count();
  return result;
}

HOB_EXPORT int MPI_T_pvar_get_info(int index, char* name, int* name_length, int* verbosity,
                                   int* var_class, MPI_Datatype* type, MPI_T_enum* enumeration,
                                   char* text, int* text_length, int* bind, int* read_only,
                                   int* continuous, int* atomic) {
  if (!is_own(index)) {
    return HOB_LIBRARY(MPI_T_pvar_get_info)(library_index(index), name, name_length, verbosity,
                                            var_class, type, enumeration, text, text_length, bind,
                                            read_only, continuous, atomic);
  }
  if (const int result = initialised(); result != MPI_SUCCESS) return result;
  const auto& row = info_of(index);
  give(std::string(kPrefix).append(row.name), name, name_length);
  give(row.help, text, text_length);
  give(static_cast<int>(MPI_T_VERBOSITY_USER_BASIC), verbosity);
  give(class_of(index), var_class);
  give<MPI_Datatype>(MPI_UNSIGNED_LONG_LONG, type);
  give<MPI_T_enum>(MPI_T_ENUM_NULL, enumeration);
  give(static_cast<int>(MPI_T_BIND_NO_OBJECT), bind);
  give(1, read_only);
  give(1, continuous);
  give(0, atomic);
  return MPI_SUCCESS;
}

HOB_EXPORT int MPI_T_pvar_get_index(const char* name, int var_class, int* index) {
  if (name && index && std::string_view(name).starts_with(kPrefix)) {
    if (const int result = initialised(); result != MPI_SUCCESS) return result;
    const int own = find_counter(std::string_view(name).substr(kPrefix.size()));
    if (own >= 0 && class_of(own) == var_class) {
      *index = own;
      return MPI_SUCCESS;
    }
  }
  const int result = HOB_LIBRARY(MPI_T_pvar_get_index)(name, var_class, index);
  if (result == MPI_SUCCESS && index) *index += own_count();
  return result;
}

HOB_EXPORT int MPI_T_category_get_pvars(int category, int length, int indices[]) {
  const int result = HOB_LIBRARY(MPI_T_category_get_pvars)(category, length, indices);
  if (result != MPI_SUCCESS || !indices) return result;
  char nothing[1];
  int name_length = 1, text_length = 1, cvars = 0, pvars = 0, categories = 0;
  if (HOB_LIBRARY(MPI_T_category_get_info)(category, nothing, &name_length, nothing, &text_length,
                                           &cvars, &pvars, &categories) != MPI_SUCCESS)
    return result;
  for (int i = 0; i < length && i < pvars; ++i) indices[i] += own_count();
  return result;
}

HOB_EXPORT int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int index, void* object,
                                       MPI_T_pvar_handle* handle, int* count) {
  if (!is_own(index)) {
    return HOB_LIBRARY(MPI_T_pvar_handle_alloc)(session, library_index(index), object, handle,
                                                count);
  }
  if (const int result = initialised(); result != MPI_SUCCESS) return result;
  if (session == MPI_T_PVAR_SESSION_NULL) return MPI_T_ERR_INVALID_SESSION;
  try {
    *handle = handles().add(session, index);
  } catch (const std::bad_alloc&) {
    return MPI_T_ERR_MEMORY;
  }
  *count = 1;
  return MPI_SUCCESS;
}

HOB_EXPORT int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  Handle found{};
  if (!handle || !handles().find(*handle, found))
    return HOB_LIBRARY(MPI_T_pvar_handle_free)(session, handle);
  if (found.session != session) return MPI_T_ERR_INVALID_SESSION;
  handles().remove_if(
      [&](const auto& each) { return reinterpret_cast<MPI_T_pvar_handle>(each.get()) == *handle; });
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

HOB_EXPORT int MPI_T_pvar_session_free(MPI_T_pvar_session* session) {
  if (session) {
    handles().remove_if([&](const auto& each) { return each->session == *session; });
  }
  return HOB_LIBRARY(MPI_T_pvar_session_free)(session);
}

HOB_EXPORT int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* value) {
  Handle found{};
  if (!handles().find(handle, found)) return HOB_LIBRARY(MPI_T_pvar_read)(session, handle, value);
  if (found.session != session) return MPI_T_ERR_INVALID_SESSION;
  *static_cast<unsigned long long*>(value) =
      counter_values()[static_cast<std::size_t>(found.index)];
  return MPI_SUCCESS;
}

// The rest cannot be done to variables that always run and are read-only. With
// MPI_T_PVAR_ALL_HANDLES these are left out, as MPI says.

HOB_EXPORT int MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return call_with(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, HOB_LIBRARY(MPI_T_pvar_start));
}

HOB_EXPORT int MPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return call_with(session, handle, MPI_T_ERR_PVAR_NO_STARTSTOP, HOB_LIBRARY(MPI_T_pvar_stop));
}

HOB_EXPORT int MPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                                const void* value) {
  return call_with(session, handle, MPI_T_ERR_PVAR_NO_WRITE, HOB_LIBRARY(MPI_T_pvar_write), value);
}

HOB_EXPORT int MPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return call_with(session, handle, MPI_T_ERR_PVAR_NO_WRITE, HOB_LIBRARY(MPI_T_pvar_reset));
}

HOB_EXPORT int MPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                                    void* value) {
  return call_with(session, handle, MPI_T_ERR_PVAR_NO_ATOMIC, HOB_LIBRARY(MPI_T_pvar_readreset),
                   value);
}

}  // extern "C"
