#include "mpi/progress/yielding.hpp"

#include <sched.h>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/pollers.hpp"
#include "mpi/progress/ucx.hpp"
#include "os/scheduling.hpp"
#include "os/thread_state.hpp"
#include "pay/waiter.hpp"

namespace hob::mpi::yielding {
namespace {

/// Inside the library. `always`: yields; else they are made while the core comes back soon.
Waiter waiter_of(bool always) {
  return Waiter({.poll_ns = always ? 0 : Waiter::kForEver, .yields_early = !always});
}

/// Of the one thread that calls MPI.
struct Waits {
  Waiter waiter = waiter_of(false);
  std::uint64_t last_ns = 0;  // of the last poll
  unsigned polls = 0;         // in a row that found nothing
  bool suspended = false;
  bool ended = false;
};

/// Of Hob's own loops in a thread.
struct OwnWaits {
  Waiter waiter{{.poll_ns = tuning::kPollNsBeforeYield}};
};

Waits& waits() {
  static Waits all;
  return all;
}

// A poll that may have found nothing. Polls that follow each other at once are a wait.
void polled() {
  Waits& process = waits();
  if (process.suspended) return;
  std::uint64_t now = tick_nanoseconds();
  if (now - process.last_ns > tuning::yielding::kSameWaitNs) process.polls = 0;
  if (++process.polls > tuning::yielding::kPolls && process.waiter.next(now) == Waiter::Step::yield)
    now = give_core_away(process.waiter.yields(), now);
  process.last_ns = now;
}

unsigned from_ucx(void* worker) {
  const unsigned events = ucx::library_progress()(worker);
  if (events != 0)
    waits().polls = 0;
  else
    polled();
  return events;
}

int from_mpich(void*) {
  if (polling_ended() || waits().ended) return library::kAsyncDone;
  polled();
  return library::kAsyncNoProgress;
}

}  // namespace

bool start(bool always) {
  waits().waiter = waiter_of(always);
  if (many_threads) return false;
  if (ucx::serves()) {
    ucx::redirect_progress(from_ucx);
    return true;
  }
  const library::AsyncStart add = library::async_start();
  return add && add(from_mpich, nullptr, library::kNoStream) == 0;
}

void change(bool always) { waits().waiter = waiter_of(always); }

void end() {
  waits().ended = true;
  if (!many_threads && ucx::serves()) ucx::redirect_progress(ucx::library_progress());
}

std::uint64_t give_core_away(YieldPredictor& predictor, std::uint64_t now) {
  ::sched_yield();
  const std::uint64_t back = tick_nanoseconds();
  predictor.yielded(now, back, os::turns_lost);
  return back;
}

void after_polls(unsigned polls) {
  Waiter& waiter = os::PerThread<OwnWaits>::here().waiter;
  const std::uint64_t now = tick_nanoseconds();
  if (polls == tuning::kPollsBetweenLooks) return waiter.begin(now);
  if (waiter.next(now) == Waiter::Step::yield) give_core_away(waiter.yields(), now);
}

void suspend(bool on) { waits().suspended = on; }

}  // namespace hob::mpi::yielding
