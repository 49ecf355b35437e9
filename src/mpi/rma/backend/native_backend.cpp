#include "mpi/rma/backend/native_backend.hpp"

#include <cstddef>

#include "mpi/pmpi/call.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

using rma::Op;
using rma::Sync;

// One function for each kind, found in a table: a switch would save registers for all of them.

int native_get(const Op& op, MPI_Win win) {
  const auto& [address, count, type] = op.result;
  if (!op.request)
    return call::Get(address, count, type, op.target, op.disp, op.target_count, op.target_type,
                     win);
  return call::Rget(address, count, type, op.target, op.disp, op.target_count, op.target_type, win,
                    op.request);
}

int native_put(const Op& op, MPI_Win win) {
  const auto& [address, count, type] = op.origin;
  if (!op.request)
    return call::Put(address, count, type, op.target, op.disp, op.target_count, op.target_type,
                     win);
  return call::Rput(address, count, type, op.target, op.disp, op.target_count, op.target_type, win,
                    op.request);
}

int native_accumulate(const Op& op, MPI_Win win) {
  const auto& [address, count, type] = op.origin;
  if (!op.request)
    return call::Accumulate(address, count, type, op.target, op.disp, op.target_count,
                            op.target_type, op.operation, win);
  return call::Raccumulate(address, count, type, op.target, op.disp, op.target_count,
                           op.target_type, op.operation, win, op.request);
}

int native_get_accumulate(const Op& op, MPI_Win win) {
  const auto& [address, count, type] = op.origin;
  const auto& [result, result_count, result_type] = op.result;
  if (!op.request)
    return call::Get_accumulate(address, count, type, result, result_count, result_type, op.target,
                                op.disp, op.target_count, op.target_type, op.operation, win);
  return call::Rget_accumulate(address, count, type, result, result_count, result_type, op.target,
                               op.disp, op.target_count, op.target_type, op.operation, win,
                               op.request);
}

int native_fetch_and_op(const Op& op, MPI_Win win) {
  return real::Fetch_and_op(op.origin.address, op.result.address, op.target_type, op.target,
                            op.disp, op.operation, win);
}

int native_compare_and_swap(const Op& op, MPI_Win win) {
  return real::Compare_and_swap(op.origin.address, op.compare, op.result.address, op.target_type,
                                op.target, op.disp, win);
}

/// In the order of Op::Kind.
constexpr decltype(&native_get) kOperations[] = {native_get,          native_put,
                                                 native_accumulate,   native_get_accumulate,
                                                 native_fetch_and_op, native_compare_and_swap};

int native_lock(const Sync& sync, MPI_Win win) {
  if (sync.all) return real::Win_lock_all(sync.assertion, win);
  return real::Win_lock(sync.lock_type, sync.target, sync.assertion, win);
}

int native_unlock(const Sync& sync, MPI_Win win) {
  return sync.all ? real::Win_unlock_all(win) : real::Win_unlock(sync.target, win);
}

int native_flush(const Sync& sync, MPI_Win win) {
  if (sync.local)
    return sync.all ? real::Win_flush_local_all(win) : real::Win_flush_local(sync.target, win);
  return sync.all ? real::Win_flush_all(win) : real::Win_flush(sync.target, win);
}

/// In the order of Sync::Kind.
constexpr decltype(&native_lock) kSynchronisations[] = {
    [](const Sync& sync, MPI_Win win) { return real::Win_fence(sync.assertion, win); },
    [](const Sync& sync, MPI_Win win) { return real::Win_start(sync.group, sync.assertion, win); },
    [](const Sync&, MPI_Win win) { return real::Win_complete(win); },
    [](const Sync& sync, MPI_Win win) { return real::Win_post(sync.group, sync.assertion, win); },
    [](const Sync&, MPI_Win win) { return real::Win_wait(win); },
    [](const Sync& sync, MPI_Win win) { return real::Win_test(win, sync.flag); },
    native_lock,
    native_unlock,
    native_flush,
    [](const Sync&, MPI_Win win) { return real::Win_sync(win); }};

}  // namespace

int issue_natively(const Op& op, MPI_Win win) {
  return kOperations[static_cast<std::size_t>(op.kind)](op, win);
}

int synchronise_natively(const Sync& sync, MPI_Win win) {
  return kSynchronisations[static_cast<std::size_t>(sync.kind)](sync, win);
}

int NativeBackend::issue(const Op& op) { return issue_natively(op, win_); }

int NativeBackend::synchronise(const Sync& sync) { return synchronise_natively(sync, win_); }

}  // namespace hob::mpi
