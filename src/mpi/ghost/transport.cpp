#include "mpi/ghost/transport.hpp"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/throttle.hpp"
#include "mpi/progress/yielding.hpp"

namespace hob::mpi {
namespace {

static_assert(sizeof(MPI_Request) <= sizeof(ghost::Handle));

ghost::Handle handle_of(MPI_Request request) {
  ghost::Handle handle = 0;
  std::memcpy(&handle, &request, sizeof request);
  return handle;
}

YieldPredictor::Config of_origin() {
  YieldPredictor::Config config;
  config.tolerated_outliers = tuning::ghost::kToleratedOutliers;
  return config;
}

}  // namespace

void check_transport(int result) {
  if (result == MPI_SUCCESS) return;
  std::fprintf(stderr, "hob: a message to or from a ghost failed (MPI error %d); ending the job\n",
               result);
  real::Abort(MPI_COMM_WORLD, 1);
}

GhostTransport::GhostTransport(GhostWorld& world, std::mutex* lock)
    : world_(world), lock_(lock), predictor_(of_origin()) {}

ghost::Handle GhostTransport::send(int peer, std::uint32_t tag, const void* data,
                                   std::size_t bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  const std::uint64_t start = tick_nanoseconds();
  check_transport(real::Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, static_cast<int>(tag),
                              world_.internal_comm, &request));
  // Not forgotten by the next message: the answer may be here before the first wait.
  if (tick_nanoseconds() - start > tuning::ghost::kLongSendNs) overtaken_ = true;
  return handle_of(request);
}

ghost::Handle GhostTransport::receive(int peer, std::uint32_t tag, void* data, std::size_t bytes) {
  MPI_Request request = MPI_REQUEST_NULL;
  check_transport(real::Irecv(data, static_cast<int>(bytes), MPI_BYTE, peer, static_cast<int>(tag),
                              world_.internal_comm, &request));
  return handle_of(request);
}

bool GhostTransport::done(ghost::Handle& handle) {
  if (handle == 0) return true;
  MPI_Request request = MPI_REQUEST_NULL;
  std::memcpy(&request, &handle, sizeof request);
  int flag = 0;
  check_transport(real::Test(&request, &flag, MPI_STATUS_IGNORE));
  if (flag) handle = 0;
  return flag != 0;
}

std::uint64_t GhostTransport::waits(bool begin) {
  asked_to_share_ = throttle(!begin);
  if (lock_ == nullptr) yielding::suspend(begin);
  if (!begin) overtaken_ = false;
  nap_ns_.reset();
  return tick_nanoseconds();
}

// A launcher ends the job where a ghost is killed. Where it does not, this process would wait for
// ever.
void GhostTransport::check_ghosts() {
  const std::uint64_t now = tick_nanoseconds();
  if (now - watched_ < tuning::ghost::kWatchPeriodNs) return;
  watched_ = now;
  if (!ghosts_) ghosts_.emplace(ghost_pids(world_), world_.sees_peers);
  if (const auto ended = ghosts_->some_ended(); !ended.empty()) end_without_ghost(world_, ended[0]);
}

// Where no socket announces messages, the answer would lie for as long as a sleep takes.
bool GhostTransport::sleep() {
  using namespace tuning::ghost;
  const int woken = sockets_.wait(-1, heard_ ? kOriginSleepNs : nap_ns_.now());
  heard_ = heard_ || woken > 0;
  nap_ns_.lengthen();
  return woken >= 0;
}

void GhostTransport::relax(unsigned turn, bool for_message) {
  const unsigned spins =
      asked_to_share_ ? tuning::ghost::kSpinTurnsAsked : tuning::ghost::kSpinTurns;
  // The MPI library's own work goes on while the process waits for a lock.
  int flag = 0;
  if (turn % 16 == 15)
    real::Iprobe(MPI_ANY_SOURCE, 0, world_.internal_comm, &flag, MPI_STATUS_IGNORE);
  if (turn % tuning::ghost::kTurnsPerWatch == 0) check_ghosts();
  if (lock_ != nullptr) lock_->unlock();
  if (for_message && world_.oversubscribed) {
    // Whoever is to answer may need this very core, or has had it while the message was sent: who
    // sleeps is woken, and runs at once. With several threads the list of sockets would
    // need a lock of its own: they never sleep.
    const std::uint64_t now = tick_nanoseconds();
    const bool may_sleep = lock_ == nullptr && !world_.cliques;
    if (may_sleep && turn < tuning::ghost::kYieldTurns && predictor_.returns_soon(now)) {
      if (turn == 0 && overtaken_) {
        overtaken_ = false;
      } else if (predictor_.due(turn)) {
        yielding::give_core_away(predictor_, now);
      }
    } else if (!may_sleep || (turn >= tuning::ghost::kPollsBeforeSleep && !sleep())) {
      sched_yield();
    }
  } else if (world_.oversubscribed || turn > spins) {
    sched_yield();
  }
  if (lock_ != nullptr) lock_->lock();
}

}  // namespace hob::mpi
