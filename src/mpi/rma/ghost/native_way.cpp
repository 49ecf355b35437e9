#include "mpi/rma/ghost/native_way.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/call.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/rma/ghost/client.hpp"
#include "mpi/workarounds/complete_puts.hpp"

namespace hob::mpi {
namespace {

ghost::Route::Completed completed(std::uint64_t ns, std::uint32_t operations, std::uint64_t bytes) {
  return {ns, operations + static_cast<double>(bytes) / tuning::ghost::kBytesOfAnOperation};
}

}  // namespace

bool NativeWay::wanted() { return ghost_client->world.network_moves; }

bool NativeWay::possible() { return wanted() && !ghost_client->many_threads; }

bool NativeWay::takes(const Target& to) {
  if (to.peer.direct || !to.peer.lock_is_certain()) return false;
  if (to.native.native != 0) return true;
  return to.peer.completion.pending == 0 && to.native.route.native();
}

// All of Hob's epochs are Hob's own; the library only needs one to be open. With this assertion it
// sends nothing.
void NativeWay::open(MPI_Win window) {
  if (open_) return;
  open_ = real::Win_lock_all(MPI_MODE_NOCHECK, window) == MPI_SUCCESS;
}

int NativeWay::issue(MPI_Win window, Target& to, bool get, const Move& move) {
  open(window);
  if (to.native.native == 0) active_.push_back(&to);
  const std::uint64_t start = tick_nanoseconds();
  const int result = get ? call::Get(move.origin, move.bytes, MPI_BYTE, to.rank, move.disp,
                                     move.bytes, MPI_BYTE, window)
                         : put_at_target(move.origin, move.bytes, MPI_BYTE, to.rank, move.disp,
                                         move.bytes, MPI_BYTE, window);
  to.native.issued_ns += tick_nanoseconds() - start;
  const auto bytes = static_cast<std::uint64_t>(move.bytes);
  ++to.native.native;
  to.native.bytes += bytes;
  ++ghost_client->natively.operations;
  ghost_client->natively.bytes += bytes;
  return result;
}

void NativeWay::by_ghost(MPI_Win window, Target& to, std::uint64_t bytes, std::uint64_t ns) {
  to_be_judged_ = true;
  ++to.native.ghosts;
  to.native.bytes += bytes;
  to.native.issued_ns += ns;
  if (to.native.route.trial_due() && to.native.trial == MPI_REQUEST_NULL &&
      to.peer.lock_is_certain())
    try_natively(window, to);
}

void NativeWay::try_natively(MPI_Win window, Target& to) {
  const auto bytes =
      static_cast<int>(std::min<std::uint64_t>(to.peer.size, to.native.tried.size()));
  if (bytes == 0) return;
  open(window);
  if (!open_ || real::Rget(to.native.tried.data(), bytes, MPI_BYTE, to.rank, 0, bytes, MPI_BYTE,
                           window, &to.native.trial) != MPI_SUCCESS) {
    to.native.trial = MPI_REQUEST_NULL;
    return;
  }
  to.native.trial_is_lost = false;
  tried_.push_back(&to);
  ++ghost_client->natively.trials;
}

void NativeWay::completed_by_ghost(Target& to, std::uint64_t ns) {
  NativeTarget& its = to.native;
  // A trial beside them makes the ghost's operations longer than they are.
  if (its.ghosts != 0 && !its.others && its.trial == MPI_REQUEST_NULL)
    its.route.by_ghost(completed(its.issued_ns + ns, its.ghosts, its.bytes));
  its.begin_anew();
  if (its.trial == MPI_REQUEST_NULL) return;
  int answered = 0;
  real::Test(&its.trial, &answered, MPI_STATUS_IGNORE);
  if (!its.trial_is_lost) {
    its.route.tried(answered != 0);
    if (answered != 0) ++ghost_client->natively.trials_won;
  }
  its.trial_is_lost = true;
  if (answered != 0) std::erase(tried_, &to);
}

int NativeWay::complete(MPI_Win window, Target& to) {
  NativeTarget& its = to.native;
  if (its.native == 0) return MPI_SUCCESS;
  const std::uint64_t start = tick_nanoseconds();
  const int result = real::Win_flush(to.rank, window);
  its.route.natively(
      completed(its.issued_ns + (tick_nanoseconds() - start), its.native, its.bytes));
  its.begin_anew();
  std::erase(active_, &to);
  ++ghost_client->natively.flushes;
  return result;
}

int NativeWay::complete_all(MPI_Win window) {
  int result = MPI_SUCCESS;
  while (!active_.empty())
    if (const int error = complete(window, *active_.back()); error != MPI_SUCCESS) result = error;
  return result;
}

int NativeWay::close(MPI_Win window) {
  if (!open_) return MPI_SUCCESS;
  const int result = complete_all(window);
  for (Target* to : tried_) real::Wait(&to->native.trial, MPI_STATUS_IGNORE);
  tried_.clear();
  open_ = false;
  const int ended = real::Win_unlock_all(window);
  return result != MPI_SUCCESS ? result : ended;
}

}  // namespace hob::mpi
