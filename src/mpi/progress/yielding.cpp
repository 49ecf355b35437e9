#include "mpi/progress/yielding.hpp"

#include <sched.h>

#include "base/clock.hpp"
#include "ghost/yield_predictor.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/pollers.hpp"
#include "mpi/progress/ucx.hpp"

namespace hob::mpi::yielding {
namespace {

/// MPIX_Async_start of MPICH 4.3 and later; the stream is a handle there, an int.
constexpr int kMpichNoStream = 0x3c000000;
enum MpichPoll { kMpichNoProgress = 0, kMpichDone = 1 };
using MpichAsyncStart = int (*)(int (*)(void*), void*, int);

/// Of the one thread that calls MPI.
struct Waits {
  ghost::YieldPredictor predictor;
  std::uint64_t last_ns = 0;  // of the last look
  unsigned looks = 0;         // in a row that found nothing
  bool suspended = false;
  bool always = false;
};

Waits& waits() {
  static Waits all;
  return all;
}

std::uint64_t now_ns() {
  static const double nanoseconds = 1 / ticks_per_nanosecond();
  return static_cast<std::uint64_t>(static_cast<double>(ticks()) * nanoseconds);
}

// A look that may have found nothing. Looks that follow each other at once are a wait.
void looked() {
  Waits& process = waits();
  if (process.suspended) return;
  std::uint64_t now = now_ns();
  if (now - process.last_ns > tuning::yielding::kSameWaitNs) process.looks = 0;
  if (++process.looks > tuning::yielding::kLooks && process.predictor.due(process.looks) &&
      (process.always || process.predictor.returns_soon(now))) {
    ::sched_yield();
    const std::uint64_t back = now_ns();
    process.predictor.yielded(now, back);
    now = back;
  }
  process.last_ns = now;
}

unsigned from_ucx(void* worker) {
  const unsigned events = ucx::library_progress()(worker);
  if (events != 0)
    waits().looks = 0;
  else
    looked();
  return events;
}

int from_mpich(void*) {
  if (polling_ended()) return kMpichDone;
  looked();
  return kMpichNoProgress;
}

}  // namespace

bool start(bool always) {
  waits().always = always;
  if (many_threads) return false;
  if (ucx::serves()) {
    ucx::redirect_progress(from_ucx);
    return true;
  }
  const auto add = reinterpret_cast<MpichAsyncStart>(real::find("MPIX_Async_start"));
  return add && add(from_mpich, nullptr, kMpichNoStream) == 0;
}

void suspend(bool on) { waits().suspended = on; }

}  // namespace hob::mpi::yielding
