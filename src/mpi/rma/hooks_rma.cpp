// One-sided operations.
#include <new>

#include "mpi/core/acquires.hpp"
#include "mpi/pmpi/call.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {
namespace {

/// This process writes to a window: what is cached of those bytes is dropped, also where another
/// window shows the same memory. With several threads, another one may have fetched the old bytes,
/// or flushed, between the note and the write: hence it is made again afterwards.
template <class Issue>
int write(Window& window, int target, MPI_Aint disp, MPI_Count count, MPI_Datatype type,
          Issue issue) {
  const auto note = [&](bool issued) {
    if (window.cached) window.cached->own_write(target, disp, count, type, issued);
    if (HOB_LIKELY(!windows_alias.get())) return;
    drop_aliased_copies(window);
    if (issued) window.aliased_writes.add(target);
  };
  note(false);
  const int result = issue();
  if (HOB_UNLIKELY(many_threads || windows_alias.get())) note(true);
  return result;
}

/// An operation is about to be issued, where waits for it are to be judged by its bytes.
void measure_wait(Window& window, MPI_Count count, MPI_Datatype type) {
  // A null type is the library's to report, with the window's error handler.
  if (HOB_LIKELY(!window.waits.measuring()) || type == MPI_DATATYPE_NULL) return;
  int bytes = 0;
  real::Type_size(type, &bytes);
  window.waits.issued(static_cast<std::uint64_t>(count * bytes));
}

/// From now on, calls on the window are only counted, where they may be.
void count_only(Window& window) {
  if (sleeping() || HOB_UNLIKELY(many_threads)) remember_quiet(window);
}

/// The completion of a write's request says that the origin's buffer is free, and of a plain get's
/// that bytes are there: neither is an acquire (docs/consistency.md).
int no_acquire(int result, MPI_Request* request) {
  if (!request || result != MPI_SUCCESS || sleeping() || ignores_acquires()) return result;
  try {
    requests::mark_no_acquire(*request);
  } catch (const std::bad_alloc&) {
    // One acquire more.
  }
  return result;
}

/// Whether a get from there is a copy in any case, as a hit is: known since the window was made.
bool is_never_looked_up(const Window& window, int target) {
  return target == window.rank || window.near.contains(target);
}

/// Such a get, or one of a window without a cache.
int get_past_cache(void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
                   MPI_Count target_count, MPI_Datatype target_type, Window& window,
                   MPI_Request* request) {
  if (window.cached)
    window.cached->pass_by(target);
  else
    tally(target == window.rank ? window.uncached_own_gets : window.uncached_gets);
  count_only(window);
  const int result = window.way_to(target).get(origin, count, type, target, disp, target_count,
                                               target_type, request);
  return no_acquire(result, request);
}

int put(const void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
        MPI_Count target_count, MPI_Datatype target_type, Window& window, MPI_Request* request) {
  tally(window.issued.puts);
  if (request) tally(window.issued.requested);
  measure_wait(window, count, type);
  count_only(window);
  const int result = write(window, target, disp, target_count, target_type, [&] {
    return window.way_to(target).put(origin, count, type, target, disp, target_count, target_type,
                                     request);
  });
  return no_acquire(result, request);
}

int accumulate(const void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
               MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, Window& window,
               MPI_Request* request) {
  tally(window.issued.accumulates);
  if (request) tally(window.issued.requested);
  measure_wait(window, count, type);
  count_only(window);
  const int result = write(window, target, disp, target_count, target_type, [&] {
    return window.way_to(target).accumulate(origin, count, type, target, disp, target_count,
                                            target_type, op, request);
  });
  return no_acquire(result, request);
}

int get_accumulate(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                   MPI_Count result_count, MPI_Datatype result_type, int target, MPI_Aint disp,
                   MPI_Count target_count, MPI_Datatype target_type, MPI_Op op, Window& window,
                   MPI_Request* request) {
  if (op == MPI_NO_OP && window.cached && !request)
    return window.cached->get(
        {result, result_count, result_type, target, disp, target_count, target_type, true});
  tally(window.issued.atomics);
  if (request) tally(window.issued.requested);
  measure_wait(window, result_count, result_type);
  const auto issue = [&] {
    return window.way_to(target).get_accumulate(origin, count, type, result, result_count,
                                                result_type, target, disp, target_count,
                                                target_type, op, request);
  };
  int error = MPI_SUCCESS;
  if (op == MPI_NO_OP) {
    error = issue();
    if (window.cached) window.cached->note_write(target);
  } else {
    error = write(window, target, disp, target_count, target_type, issue);
  }
  window.atomic_results.add(target);
  return error;
}

}  // namespace

int on_Get(void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
           MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,
           MPI_Win win) {
  Window* window = find_window(win);
  if (HOB_UNLIKELY(!window))
    return call::Get(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                     target_count, target_datatype, win);
  measure_wait(*window, origin_count, origin_datatype);
  if (!window->cached || is_never_looked_up(*window, target_rank))
    return get_past_cache(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                          target_count, target_datatype, *window, nullptr);
  if (sleeping() && window->cached->left_alone()) remember_quiet(*window);
  return window->cached->get({origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                              target_count, target_datatype});
}

int on_Rget(void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
            int target_rank, MPI_Aint target_disp, MPI_Count target_count,
            MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request) {
  Window* window = find_window(win);
  if (!window)
    return call::Rget(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                      target_count, target_datatype, win, request);
  tally(window->issued.requested);
  measure_wait(*window, origin_count, origin_datatype);
  if (!window->cached || is_never_looked_up(*window, target_rank))
    return get_past_cache(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                          target_count, target_datatype, *window, request);
  if (sleeping() && window->cached->left_alone()) remember_quiet(*window);
  return window->cached->rget({origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                               target_count, target_datatype},
                              request);
}

int on_Put(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
           int target_rank, MPI_Aint target_disp, MPI_Count target_count,
           MPI_Datatype target_datatype, MPI_Win win) {
  if (Window* window = find_window(win))
    return put(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
               target_datatype, *window, nullptr);
  return call::Put(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                   target_count, target_datatype, win);
}

int on_Rput(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
            int target_rank, MPI_Aint target_disp, MPI_Count target_count,
            MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request) {
  if (Window* window = find_window(win))
    return put(origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count,
               target_datatype, *window, request);
  return call::Rput(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                    target_count, target_datatype, win, request);
}

int on_Accumulate(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) {
  if (Window* window = find_window(win))
    return accumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                      target_count, target_datatype, op, *window, nullptr);
  return call::Accumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                          target_count, target_datatype, op, win);
}

int on_Raccumulate(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                   int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                   MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request) {
  if (Window* window = find_window(win))
    return accumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                      target_count, target_datatype, op, *window, request);
  return call::Raccumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                           target_count, target_datatype, op, win, request);
}

int on_Get_accumulate(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                      void* result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
                      int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                      MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) {
  if (Window* window = find_window(win))
    return get_accumulate(origin_addr, origin_count, origin_datatype, result_addr, result_count,
                          result_datatype, target_rank, target_disp, target_count, target_datatype,
                          op, *window, nullptr);
  return call::Get_accumulate(origin_addr, origin_count, origin_datatype, result_addr, result_count,
                              result_datatype, target_rank, target_disp, target_count,
                              target_datatype, op, win);
}

int on_Rget_accumulate(const void* origin_addr, MPI_Count origin_count,
                       MPI_Datatype origin_datatype, void* result_addr, MPI_Count result_count,
                       MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                       MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                       MPI_Request* request) {
  if (Window* window = find_window(win))
    return get_accumulate(origin_addr, origin_count, origin_datatype, result_addr, result_count,
                          result_datatype, target_rank, target_disp, target_count, target_datatype,
                          op, *window, request);
  return call::Rget_accumulate(origin_addr, origin_count, origin_datatype, result_addr,
                               result_count, result_datatype, target_rank, target_disp,
                               target_count, target_datatype, op, win, request);
}

int on_Fetch_and_op(const void* origin_addr, void* result_addr, MPI_Datatype datatype,
                    int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win) {
  Window* window = find_window(win);
  if (!window)
    return real::Fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op,
                              win);
  tally(window->issued.atomics);
  count_only(*window);
  const int result = write(*window, target_rank, target_disp, 1, datatype, [&] {
    return window->way_to(target_rank)
        .fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op);
  });
  window->atomic_results.add(target_rank);
  return result;
}

int on_Compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr,
                        MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win) {
  Window* window = find_window(win);
  if (!window)
    return real::Compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank,
                                  target_disp, win);
  tally(window->issued.atomics);
  count_only(*window);
  const int result = write(*window, target_rank, target_disp, 1, datatype, [&] {
    return window->way_to(target_rank)
        .compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank,
                          target_disp);
  });
  window->atomic_results.add(target_rank);
  return result;
}

}  // namespace hob::mpi
