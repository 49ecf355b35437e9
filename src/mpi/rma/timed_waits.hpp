// While tracking is off, some of the calls that wait for targets are timed all the same.
#pragma once

#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/state.hpp"

namespace hob::mpi {

/// untracked(), for calls that wait for targets.
inline bool untracked_untimed() {
  if (!tracking_off()) return pass_through();
  if (HOB_LIKELY(all_windows.timed.passes())) return true;
  all_windows.timed.restart();
  return pass_through();
}

}  // namespace hob::mpi
