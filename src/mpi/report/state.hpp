// When this process writes what it knows though the run has not ended. Global, since calls of every
// part look at it.
#pragma once

#include <atomic>
#include <cstdint>

namespace hob::mpi {

/// In ticks(); UINT64_MAX: not at all.
inline std::atomic<std::uint64_t> interim_report_due{UINT64_MAX};

}  // namespace hob::mpi
