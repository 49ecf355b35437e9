// Windows are made, changed and freed.
#include <memory>
#include <utility>

#include "mpi/core/members.hpp"
#include "mpi/core/unreported_errors.hpp"
#include "mpi/ghost/job/world.hpp"
#include "mpi/pmpi/call.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/rma/ghost/ghost_window.hpp"
#include "mpi/rma/registration.hpp"
#include "mpi/rma/validation.hpp"
#include "mpi/rma/window.hpp"
#include "mpi/rma/window_info.hpp"
#include "mpi/rma/window_report.hpp"

namespace hob::mpi {

namespace {

/// Whether ghosts serve the window that is to be made: then it is, or `result` has an error.
bool by_ghosts(WindowSpec& spec, void* base, GhostWindow& served, int& result) {
  if (!ghost_world() || !all_run_hob(spec.comm)) return false;
  served.answers = own_answers(spec);
  if (!ghost_window(spec.kind == WindowKind::allocate, base, spec.bytes, spec.displacement_unit,
                    spec.info, spec.comm, served, result))
    return false;
  spec.ghosts = &served;
  return true;
}

}  // namespace

int on_Win_create(void* base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                  MPI_Win* win) {
  WindowSpec spec{.kind = WindowKind::create,
                  .base = base,
                  .bytes = size,
                  .displacement_unit = disp_unit,
                  .info = info,
                  .comm = comm,
                  .aliased = overlaps_another_window(base, static_cast<std::uint64_t>(size))};
  GhostWindow served;
  int result = MPI_SUCCESS;
  if (by_ghosts(spec, base, served, result)) {
    if (result == MPI_SUCCESS) *win = served.handle;
  } else {
    result = call::Win_create(base, size, disp_unit, info, comm, win);
  }
  if (result != MPI_SUCCESS) return result;
  spec.handle = *win;
  register_window(spec);
  return result;
}

int on_Win_allocate(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                    MPI_Win* win) {
  // No other window has the memory of such a window: it is not aliased.
  WindowSpec spec{.kind = WindowKind::allocate,
                  .bytes = size,
                  .displacement_unit = disp_unit,
                  .info = info,
                  .comm = comm};
  GhostWindow served;
  int result = MPI_SUCCESS;
  if (by_ghosts(spec, nullptr, served, result)) {
    if (result == MPI_SUCCESS) {
      *win = served.handle;
      *static_cast<void**>(baseptr) = served.base;
    }
  } else {
    result = call::Win_allocate(size, disp_unit, info, comm, baseptr, win);
  }
  if (result != MPI_SUCCESS) return result;
  spec.handle = *win;
  spec.base = *static_cast<void**>(baseptr);
  register_window(spec);
  return result;
}

int on_Win_allocate_shared(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                           void* baseptr, MPI_Win* win) {
  const int result = call::Win_allocate_shared(size, disp_unit, info, comm, baseptr, win);
  if (result == MPI_SUCCESS)
    register_window({*win, WindowKind::shared, *static_cast<void**>(baseptr), size, disp_unit, info,
                     comm, false});
  return result;
}

int on_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  const int result = real::Win_create_dynamic(info, comm, win);
  if (result == MPI_SUCCESS)
    register_window({*win, WindowKind::dynamic, nullptr, 0, 1, info, comm, true});
  return result;
}

int on_Win_free(MPI_Win* win) {
  if (!win) return real::Win_free(win);
  // Before the library gives the handle to another window.
  std::unique_ptr<Window> window = remove_window(*win);
  if (!window) return real::Win_free(win);
  window->stages.first().closing();
  report_errors_now();  // of the window, while there is one
  end_validation(*window);
  char name[MPI_MAX_OBJECT_NAME] = {};
  int length = 0;
  if (real::Win_get_name(*win, name, &length) == MPI_SUCCESS)
    window->name.assign(name, static_cast<std::size_t>(length));
  const int result = real::Win_free(win);
  if (result == MPI_SUCCESS) {
    remember_window(*window);
  } else {
    // It stays as it was, but that its copies do not outlive barriers: the other processes, which
    // would have to take part in that, may have freed it.
    window->stages.first().staying();
    add_window(std::move(window));
  }
  return result;
}

int on_Win_get_attr(MPI_Win win, int keyval, void* value, int* flag) {
  const int result = real::Win_get_attr(win, keyval, value, flag);
  if (keyval != MPI_WIN_CREATE_FLAVOR || result != MPI_SUCCESS) return result;
  const Window* window = find_window(win);
  if (window && window->kind == WindowKind::allocate && window->stages.ghosts()) {
    static int flavor = MPI_WIN_FLAVOR_ALLOCATE;
    *static_cast<int**>(value) = &flavor;
  }
  return result;
}

namespace {

/// The program knows where the memory of `rank` is, if there is any: it may load and store there
/// from now on. Windows that ghosts serve have no batches.
void may_be_reached(MPI_Win win, int rank, bool is_known) {
  Window* const window = is_known ? find_window(win) : nullptr;
  if (window && window->stages.batches()) window->stages.batches()->reached_by_stores(rank);
}

bool shared_query(MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* unit, void* base) {
  const Window* window = find_window(win);
  return window && window->kind == WindowKind::allocate && window->stages.ghosts() &&
         ghost_shared_query(*window->stages.ghosts(), rank, size, unit, static_cast<void**>(base));
}

}  // namespace

int on_Win_shared_query(MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr) {
  MPI_Aint unit = 1;
  show_to_neighbours(win);
  if (!shared_query(win, rank, size, &unit, baseptr)) {
    const int result = real::Win_shared_query(win, rank, size, disp_unit, baseptr);
    may_be_reached(win, rank, result == MPI_SUCCESS && *size != 0);
    return result;
  }
  *disp_unit = static_cast<int>(unit);
  return MPI_SUCCESS;
}

#if HOB_HAS_LARGE_COUNT
int on_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint* size, MPI_Aint* disp_unit,
                          void* baseptr) {
  show_to_neighbours(win);
  if (shared_query(win, rank, size, disp_unit, baseptr)) return MPI_SUCCESS;
  const int result = real::Win_shared_query_c(win, rank, size, disp_unit, baseptr);
  may_be_reached(win, rank, result == MPI_SUCCESS && *size != 0);
  return result;
}
#endif

int on_Win_set_info(MPI_Win win, MPI_Info info) {
  const int result = real::Win_set_info(win, info);
  if (result != MPI_SUCCESS) return result;
  Window* window = find_window(win);
  const auto word = window ? cache_word(info) : std::nullopt;
  if (!word) return result;
  const auto mode = parse_mode(*word);
  if (!mode) end_for_bad_mode(*word, window->rank);
  if (window->cached) window->cached->set_mode(*mode, "");
  return result;
}

}  // namespace hob::mpi
