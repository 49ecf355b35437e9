// Reports of a run that has not ended: they are what is left of one that is cut off.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "mpi/pmpi/call_guard.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// From now on rank 0 writes the JSON, if there is to be one, every `json_every` seconds, and where
/// it leaves without MPI_Finalize.
void begin_interim_reports();

/// The run has ended: the last report follows.
void end_interim_reports();

/// What this process alone knows, as the JSON of the run. No other process takes part.
void write_interim_report();

/// The same in a process that writes reports and now leaves without MPI_Finalize.
void write_last_report();

/// In calls that wait for the network, or that post a receive; none of Hob's locks is held.
inline void report_if_due() {
  const std::uint64_t due = timed_work().due.load(std::memory_order_relaxed);
  if (HOB_UNLIKELY(due != UINT64_MAX) && ticks() >= due) write_interim_report();
}

}  // namespace hob::mpi
