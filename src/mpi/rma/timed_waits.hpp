// While tracking is off, some of the calls that wait for targets are timed all the same.
#pragma once

#include <atomic>

#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/state.hpp"

namespace hob::mpi {

/// Whether a call that waits for targets is not timed, while tracking is off.
inline bool untimed() {
  const int left = untimed_waits.load(std::memory_order_relaxed) - 1;
  if (HOB_UNLIKELY(left <= 0)) return false;
  untimed_waits.store(left, std::memory_order_relaxed);
  return true;
}

/// untracked(), for calls that wait for targets.
inline bool untracked_untimed() {
  if (!tracking_off()) return pass_through();
  if (HOB_LIKELY(untimed())) return true;
  untimed_waits.store(wait_interval.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return pass_through();
}

}  // namespace hob::mpi
