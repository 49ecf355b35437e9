// One-sided operations.
#include "mpi/core/acquires.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/requests/lookup.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/rma/backend/native_backend.hpp"
#include "mpi/rma/cache/hot_gets.hpp"
#include "mpi/rma/direct.hpp"
#include "mpi/rma/incoming.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {
namespace {

using rma::Op;

/// This process writes to a window, or has: what is cached of those bytes is dropped, also where
/// another window shows the same memory.
[[gnu::noinline]] void note_write(const Op& op, Window& window, bool issued) {
  if (window.cached)
    window.cached->own_write(op.target, op.disp, op.target_count, op.target_type, issued);
  if (HOB_LIKELY(!all_windows.alias.get())) return;
  drop_aliased_copies(window);
  if (issued) window.aliased_writes.add(op.target);
}

/// Issues a write. With several threads, another one may have fetched the old bytes, or flushed,
/// between the note and the write: hence it is made again afterwards.
[[gnu::always_inline]] inline int write(const Op& op, Window& window) {
  if (window.cached || all_windows.alias.get()) note_write(op, window, false);
  const int result = window.way_to(op.target).issue(op);
  if (HOB_UNLIKELY((window.cached && many_threads) || all_windows.alias.get()))
    note_write(op, window, true);
  return result;
}

/// An operation is about to be issued, where waits for it are to be judged by its bytes.
void measure_wait(Window& window, const TypedBuffer& buffer) {
  // A null type is the library's to report, with the window's error handler.
  if (HOB_LIKELY(!window.waits.measuring()) || buffer.type == MPI_DATATYPE_NULL) return;
  int bytes = 0;
  real::Type_size(buffer.type, &bytes);
  window.waits.issued(static_cast<std::uint64_t>(buffer.count * bytes));
}

/// From now on, calls on the window are only counted, where they may be.
void count_only(Window& window) {
  if (tracking_off() || HOB_UNLIKELY(many_threads)) remember_untracked(window);
}

/// Completion of an MPI_Rput frees the origin buffer, of an MPI_Rget delivers data: neither is an
/// acquire (docs/consistency.md).
int no_acquire(int result, const Op& op, const Window& window) {
  if (!op.request || result != MPI_SUCCESS || tracking_off() || ignores_acquires()) return result;
  if (many_threads && op.target == window.rank && window.direct.get() != direct::Open::none)
    direct::note_request(*op.request, {window.handle, op.target, op.disp});
  else
    requests::note_no_acquire(*op.request);
  return result;
}

/// Whether a get from there is a copy in any case, as a hit is: known since the window was made.
bool is_never_looked_up(const Window& window, int target) {
  return target == window.rank || window.near.contains(target);
}

/// Such a get, or one of a window without a cache.
int get_past_cache(const Op& op, Window& window) {
  std::uint64_t& count = op.target == window.rank ? window.uncached_own_gets : window.uncached_gets;
  const std::uint64_t passed = tally(count);
  if (window.cached) window.cached->pass_by(op.target, passed);
  count_only(window);
  return no_acquire(window.way_to(op.target).issue(op), op, window);
}

int get(const Op& op, MPI_Win win) {
  Window* const window = find_window(win);
  if (HOB_UNLIKELY(!window)) return issue_natively(op, win);
  window->flushed.issued();
  if (op.request) tally(window->issued.requested);
  measure_wait(*window, op.result);
  if (!window->cached || is_never_looked_up(*window, op.target)) return get_past_cache(op, *window);
  if (tracking_off() && window->cached->tracking_off_for_good()) remember_untracked(*window);
  return op.request ? window->cached->rget(op) : window->cached->get(op);
}

int put_or_accumulate(const Op& op, MPI_Win win) {
  Window* const window = find_window(win);
  if (HOB_UNLIKELY(!window)) return issue_natively(op, win);
  window->flushed.issued();
  tally(op.kind == Op::Kind::put ? window->issued.puts : window->issued.accumulates);
  if (op.request) tally(window->issued.requested);
  measure_wait(*window, op.origin);
  count_only(*window);
  return no_acquire(write(op, *window), op, *window);
}

int get_accumulate(const Op& op, MPI_Win win) {
  Window* const window = find_window(win);
  if (HOB_UNLIKELY(!window)) return issue_natively(op, win);
  window->flushed.issued();
  const bool only_reads = op.operation == MPI_NO_OP;
  if (only_reads && window->cached && !op.request) return window->cached->get(op);
  tally(window->issued.atomics);
  if (op.request) tally(window->issued.requested);
  measure_wait(*window, op.result);
  int error = MPI_SUCCESS;
  if (only_reads) {
    error = window->way_to(op.target).issue(op);
    if (window->cached) window->cached->note_write(op.target);
  } else {
    error = write(op, *window);
  }
  window->atomic_results.add(op.target);
  // The result is there already, where nothing will be learned from the request's completion.
  if (op.request && HOB_LIKELY(error == MPI_SUCCESS) && requests::is_prebuilt(*op.request))
    note_acquire("MPI_Rget_accumulate");
  return error;
}

/// MPI_Fetch_and_op or MPI_Compare_and_swap.
int fetch(const Op& op, MPI_Win win) {
  Window* const window = find_window(win);
  if (HOB_UNLIKELY(!window)) return issue_natively(op, win);
  window->flushed.issued();
  tally(window->issued.atomics);
  count_only(*window);
  const int result = write(op, *window);
  window->atomic_results.add(op.target);
  return result;
}

}  // namespace

int on_Get(void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype, int target_rank,
           MPI_Aint target_disp, MPI_Count target_count, MPI_Datatype target_datatype,
           MPI_Win win) {
  return get(Op::get(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                     target_count, target_datatype),
             win);
}

int quick_Get(void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
              MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Win win) {
  Window* const window = find_window(win);
  if (HOB_LIKELY(window && window->cached && origin_datatype == target_datatype &&
                 origin_count == target_count && !compares_incoming()) &&
      window->cached->get_again({.buffer = origin_addr,
                                 .count = target_count,
                                 .type = handle_bits(target_datatype),
                                 .displacement = target_disp,
                                 .target = target_rank}))
    return MPI_SUCCESS;
  return long_Get(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                  target_count, target_datatype, win);
}

int on_Rget(void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
            int target_rank, MPI_Aint target_disp, MPI_Count target_count,
            MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request) {
  return get(Op::get(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                     target_count, target_datatype, request),
             win);
}

int on_Put(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
           int target_rank, MPI_Aint target_disp, MPI_Count target_count,
           MPI_Datatype target_datatype, MPI_Win win) {
  return put_or_accumulate(Op::put(origin_addr, origin_count, origin_datatype, target_rank,
                                   target_disp, target_count, target_datatype),
                           win);
}

int on_Rput(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
            int target_rank, MPI_Aint target_disp, MPI_Count target_count,
            MPI_Datatype target_datatype, MPI_Win win, MPI_Request* request) {
  return put_or_accumulate(Op::put(origin_addr, origin_count, origin_datatype, target_rank,
                                   target_disp, target_count, target_datatype, request),
                           win);
}

int on_Accumulate(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) {
  return put_or_accumulate(Op::accumulate(origin_addr, origin_count, origin_datatype, target_rank,
                                          target_disp, target_count, target_datatype, op),
                           win);
}

int on_Raccumulate(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                   int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                   MPI_Datatype target_datatype, MPI_Op op, MPI_Win win, MPI_Request* request) {
  return put_or_accumulate(Op::accumulate(origin_addr, origin_count, origin_datatype, target_rank,
                                          target_disp, target_count, target_datatype, op, request),
                           win);
}

int on_Get_accumulate(const void* origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                      void* result_addr, MPI_Count result_count, MPI_Datatype result_datatype,
                      int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                      MPI_Datatype target_datatype, MPI_Op op, MPI_Win win) {
  return get_accumulate(Op::get_accumulate(origin_addr, origin_count, origin_datatype, result_addr,
                                           result_count, result_datatype, target_rank, target_disp,
                                           target_count, target_datatype, op),
                        win);
}

int on_Rget_accumulate(const void* origin_addr, MPI_Count origin_count,
                       MPI_Datatype origin_datatype, void* result_addr, MPI_Count result_count,
                       MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                       MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                       MPI_Request* request) {
  return get_accumulate(Op::get_accumulate(origin_addr, origin_count, origin_datatype, result_addr,
                                           result_count, result_datatype, target_rank, target_disp,
                                           target_count, target_datatype, op, request),
                        win);
}

int on_Fetch_and_op(const void* origin_addr, void* result_addr, MPI_Datatype datatype,
                    int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win) {
  return fetch(Op::fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op),
               win);
}

int on_Compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr,
                        MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Win win) {
  return fetch(Op::compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank,
                                    target_disp),
               win);
}

}  // namespace hob::mpi
