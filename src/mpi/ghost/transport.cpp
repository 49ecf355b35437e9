#include "mpi/ghost/transport.hpp"

#include <sched.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "mpi/core/end_job.hpp"
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

/// `asked`: the user wants the MPI library to give the core away.
Waiter::Config waiting_of(const GhostWorld& world, bool asked) {
  using namespace tuning::ghost;
  Waiter::Config config;
  config.yields.tolerated_outliers = kToleratedOutliers;
  if (!world.oversubscribed) {
    config.poll_ns = asked ? kOriginPollAskedNs : kOriginPollNs;
    return config;
  }
  // Whoever is to answer may need this very core: who sleeps is woken, and runs at once.
  config.yield_ns = kOriginYieldNs;
  config.sleep_ns = kOriginSleepNs;
  config.polls_before_sleep = kPollsBeforeSleep;
  return config;
}

}  // namespace

void check_transport(int result) {
  if (result == MPI_SUCCESS) return;
  std::fprintf(stderr, "hob: a message to or from a ghost failed (MPI error %d); ending the job\n",
               result);
  end_job(MPI_COMM_WORLD, 1);
}

GhostTransport::GhostTransport(GhostWorld& world, std::mutex* lock)
    : world_(world),
      lock_(lock),
      // Where no socket announces messages, the answer would lie for as long as a sleep takes.
      sleeper_({.times = {.first_ns = tuning::ghost::kFirstOriginSleepNs,
                          .unproven_ns = tuning::ghost::kOriginSleepNs,
                          .least_proven_ns = tuning::ghost::kOriginSleepNs}}) {}

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
  const bool asked = throttle(!begin);
  if (lock_ == nullptr) yielding::suspend(begin);
  const std::uint64_t now = tick_nanoseconds();
  if (begin) {
    if (!waiter_) waiter_.emplace(waiting_of(world_, asked));
    waiter_->begin(now);
  } else {
    overtaken_ = false;
    sleeper_.worked();
  }
  return now;
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

void GhostTransport::relax(unsigned turn, bool for_message) {
  // The MPI library's own work goes on while the process waits for a lock.
  int flag = 0;
  if (turn % 16 == 15)
    real::Iprobe(MPI_ANY_SOURCE, 0, world_.internal_comm, &flag, MPI_STATUS_IGNORE);
  if (turn % tuning::ghost::kTurnsPerWatch == 0) check_ghosts();
  const std::uint64_t now = tick_nanoseconds();
  // With several threads the list of sockets would need a lock of its own: they never sleep.
  const Waiter::Step step = waiter_->next(now, for_message && lock_ == nullptr && !world_.cliques);
  // Whoever is to answer may have had the core while the message was sent.
  if (turn == 0 && std::exchange(overtaken_, false)) return;
  if (lock_ != nullptr) {
    lock_->unlock();
    if (step == Waiter::Step::yield) sched_yield();
    lock_->lock();
  } else if (step == Waiter::Step::yield) {
    yielding::give_core_away(waiter_->yields(), now);
  } else if (step == Waiter::Step::sleep) {
    sleeper_.sleep(waiter_->sleep_ns(), [] { return false; });
  }
}

}  // namespace hob::mpi
