// The calls of include/hob/hob.h. They are no MPI calls: the program makes them itself.
#include <dlfcn.h>

#include "mpi/heat/heating.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/report/registry.hpp"
#include "mpi/rma/window.hpp"

using namespace hob::mpi;

namespace {

/// Fortran's handle of a window (an INTEGER) as C's: a macro, or a function of the library.
MPI_Win of_fortran(int win) {
#ifdef MPI_Win_f2c
  return MPI_Win_f2c(win);
#else
#ifdef HOB_FAMILY_ABI
  constexpr const char* name = "PMPI_Win_fromint";
#else
  constexpr const char* name = "PMPI_Win_f2c";
#endif
  static const auto function = reinterpret_cast<MPI_Win (*)(int)>(real::find_or_abort(name));
  return function(win);
#endif
}

}  // namespace

extern "C" {

HOB_EXPORT int HOB_Invalidate(MPI_Win win) {
  if (Window* window = active ? find_window(win) : nullptr; window && window->cached)
    window->cached->drop_all();
  return MPI_SUCCESS;
}

HOB_EXPORT int HOB_Invalidate_target(int target, MPI_Win win) {
  Window* window = active ? find_window(win) : nullptr;
  if (!window) return MPI_SUCCESS;
  if (target < 0 || target >= window->size) return MPI_ERR_RANK;
  if (window->cached) window->cached->drop_target(target);
  return MPI_SUCCESS;
}

HOB_EXPORT int CLAMPI_Invalidate(MPI_Win win) __attribute__((alias("HOB_Invalidate")));

/// The public code's window: the program may still be linked with that code, which then has a cache
/// of its own to empty.
struct ClampiWindow {
  MPI_Win win;
  void* cache;
};

HOB_EXPORT int CMPI_Win_invalidate(ClampiWindow window) {
  HOB_Invalidate(window.win);
  using Function = int (*)(ClampiWindow);
  static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "CMPI_Win_invalidate"));
  return next ? next(window) : MPI_SUCCESS;
}

// For include/hob/hob.f90.

HOB_EXPORT int HOB_Invalidate_f(const int* win) { return HOB_Invalidate(of_fortran(*win)); }

HOB_EXPORT int HOB_Invalidate_target_f(const int* target, const int* win) {
  return HOB_Invalidate_target(*target, of_fortran(*win));
}

HOB_EXPORT int HOB_Counter(const char* name, unsigned long long* value) {
  const int counter = find_counter(name);
  if (counter < 0) return MPI_ERR_ARG;
  *value = counter_values()[static_cast<std::size_t>(counter)];
  return MPI_SUCCESS;
}

HOB_EXPORT int HOB_Heat_pause(void) {
  heating::pause();
  return MPI_SUCCESS;
}

HOB_EXPORT int HOB_Heat_resume(void) {
  heating::resume();
  return MPI_SUCCESS;
}

}  // extern "C"
