#include "mpi/ghost/transport.hpp"

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/throttle.hpp"

namespace hob::mpi {
namespace {

static_assert(sizeof(MPI_Request) <= sizeof(ghost::Handle));

ghost::Handle handle_of(MPI_Request request) {
  ghost::Handle handle = 0;
  std::memcpy(&handle, &request, sizeof request);
  return handle;
}

// A wire that fails cannot be mended from inside: operations would be lost silently.
void check(int result) {
  if (result == MPI_SUCCESS) return;
  std::fprintf(stderr, "hob: a message to or from a ghost failed (MPI error %d); ending the job\n",
               result);
  real::Abort(MPI_COMM_WORLD, 1);
}

}  // namespace

ghost::Handle GhostTransport::send(int peer, std::uint32_t tag, const void* data,
                                   std::size_t bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  const std::uint64_t start = clock_ns();
  check(real::Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, static_cast<int>(tag),
                    world_.wire, &request));
  // Not forgotten by the next message: the answer may be here before the first wait.
  if (clock_ns() - start > 12'000) overtaken_ = true;
  return handle_of(request);
}

ghost::Handle GhostTransport::receive(int peer, std::uint32_t tag, void* data, std::size_t bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(real::Irecv(data, static_cast<int>(bytes), MPI_BYTE, peer, static_cast<int>(tag),
                    world_.wire, &request));
  return handle_of(request);
}

bool GhostTransport::done(ghost::Handle& handle) {
  if (handle == 0) return true;
  MPI_Request request = MPI_REQUEST_NULL;
  std::memcpy(&request, &handle, sizeof request);
  int flag = 0;
  check(real::Test(&request, &flag, MPI_STATUS_IGNORE));
  if (flag) handle = 0;
  return flag != 0;
}

std::uint64_t clock_ns() {
  static const double nanoseconds = 1 / ticks_per_nanosecond();
  return static_cast<std::uint64_t>(static_cast<double>(ticks()) * nanoseconds);
}

std::uint64_t give_core_away(ghost::Courtesy& courtesy, std::uint64_t now) {
  sched_yield();
  const std::uint64_t back = clock_ns();
  courtesy.gave(now, back);
  return back;
}

std::uint64_t GhostTransport::waits(bool begin) {
  asked_to_share_ = throttle(!begin);
  if (!begin) overtaken_ = false;
  return clock_ns();
}

void GhostTransport::relax(unsigned turn, bool for_message) {
  // Turns before the core is given away where every process has one; who asked the MPI library to
  // share cores may know of neighbours that Hob does not.
  const unsigned spins = asked_to_share_ ? 16 : 2000;
  constexpr unsigned looks = 3;    // at least, before the first sleep
  constexpr unsigned gifts = 200;  // turns, about a microsecond each where nobody takes the core
  // The MPI library's own work goes on while the process waits for a lock.
  int flag = 0;
  if (turn % 16 == 15) real::Iprobe(MPI_ANY_SOURCE, 0, world_.wire, &flag, MPI_STATUS_IGNORE);
  if (lock_ != nullptr) lock_->unlock();
  if (for_message && world_.crowded) {
    // Whoever is to answer may need this very core, or has had it while the message was sent: who
    // sleeps is woken, and runs at once. With several threads the list of sockets would
    // need a lock of its own: they never sleep.
    const std::uint64_t now = clock_ns();
    const bool may_sleep = lock_ == nullptr && !world_.cliques;
    if (may_sleep && turn < gifts && courtesy_.returned_soon(now)) {
      if (turn == 0 && overtaken_) {
        overtaken_ = false;
      } else if (courtesy_.due(turn)) {
        give_core_away(courtesy_, now);
      }
    } else if (!may_sleep || (turn >= looks && sockets_.wait(-1, 1'000'000) < 0)) {
      sched_yield();
    }
  } else if (world_.crowded || turn > spins) {
    sched_yield();
  }
  if (lock_ != nullptr) lock_->lock();
}

}  // namespace hob::mpi
