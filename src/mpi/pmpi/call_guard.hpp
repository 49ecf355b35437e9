// What a wrapper does first, once the call is Hob's, and last.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {

/// Something that is to be done at a moment, by the next call that comes to Hob. Of the whole
/// process, since every call looks at it.
struct TimedWork {
  std::atomic<std::uint64_t> due{UINT64_MAX};  ///< in ticks(); UINT64_MAX: nothing
  void (*act)() = nullptr;                     ///< set before `due`
};

inline TimedWork& timed_work() {
  static constinit TimedWork only;
  return only;
}

/// DepthGuard in a wrapper. Where the program called it, nothing of Hob's is locked: what is due is
/// done first, and the program's error handlers hear last of all of what went wrong meanwhile
/// (unreported_errors.hpp). They may throw, and leave by longjmp, for which nothing of the call is
/// left.
struct CallGuard {
  CallGuard() {
    depth += kCall;
    const std::uint64_t due = timed_work().due.load(std::memory_order_relaxed);
    if (HOB_UNLIKELY(due != UINT64_MAX) && depth == kCall && ticks() >= due) timed_work().act();
  }
  ~CallGuard() noexcept(false) {
    if (HOB_UNLIKELY((depth -= kCall) != 0)) report_errors();
  }
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;
};

}  // namespace hob::mpi
