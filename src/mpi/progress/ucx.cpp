#include "mpi/progress/ucx.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/pollers.hpp"
#include "mpi/progress/state.hpp"

namespace hob::mpi::ucx {
namespace {

unsigned first(void* worker);

/// What the library's calls of ucp_worker_progress reach, and whether it has a worker.
struct Interposed {
  std::atomic<Progress> next{first};
  std::atomic<bool> has_worker{false};
};
constinit Interposed interposed;

unsigned first(void* worker) {
  interposed.next.store(library_progress(), std::memory_order_relaxed);
  return library_progress()(worker);
}

}  // namespace

void* find_or_abort(const char* name) {
  if (void* found = dlsym(RTLD_NEXT, name)) return found;
  // An MPI library that was loaded late, with its own libraries out of sight.
  if (void* library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD)) {
    void* found = dlsym(library, name);
    dlclose(library);
    if (found) return found;
  }
  std::fprintf(stderr, "hob: UCX is in use, but %s is not to be found\n", name);
  std::abort();
}

Progress library_progress() {
  static const auto found = reinterpret_cast<Progress>(find_or_abort("ucp_worker_progress"));
  return found;
}

void redirect_progress(Progress to) { interposed.next.store(to, std::memory_order_relaxed); }

bool present() {
  void* const library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
  if (library) dlclose(library);
  return library != nullptr;
}

Standstill::Standstill()
    : before_(interposed.next.exchange([](void*) { return 0U; }, std::memory_order_relaxed)) {}

Standstill::~Standstill() { redirect_progress(before_); }

bool is_library(const void* caller) {
  Dl_info its{}, library{};
  return dladdr(caller, &its) != 0 && dladdr(real::find("PMPI_Init"), &library) != 0 &&
         its.dli_fbase == library.dli_fbase;
}

void library_has_worker(bool has) { interposed.has_worker.store(has, std::memory_order_relaxed); }

bool serves() { return interposed.has_worker.load(std::memory_order_relaxed); }

}  // namespace hob::mpi::ucx

// Nothing is done in a thread that is not in a call of the
// program's: one of the library's own.
extern "C" HOB_EXPORT unsigned ucp_worker_progress(void* worker) {
  const auto next = hob::mpi::ucx::interposed.next.load(std::memory_order_relaxed);
  // The library polls: with nothing under way this is a jump, without a frame.
  if (HOB_LIKELY(hob::mpi::parts_under_way.load(std::memory_order_relaxed) == 0))
    return next(worker);
  const unsigned events = next(worker);
  if (hob::mpi::own_progress.library_calls_back && !hob::mpi::many_threads && hob::mpi::depth != 0)
    hob::mpi::advance_from_library();
  return events;
}
