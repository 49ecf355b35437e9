// Giving the core away in the waits of the MPI library.
//
// MPI libraries spin while they wait. Where a node has more processes than hardware threads, the
// process that is waited for may need this very core: each wait then takes a time slice. MPICH can
// sleep in its waits (MPIR_CVAR_CH4_PROGRESS_THROTTLE), by 50 us and more at a time, and only
// version 5; Hob yields from within the library's progress: UCX's ucp_worker_progress, or the
// library's own callback (MPICH 4.3 and later). Open MPI yields by itself (mpi_yield_when_idle).
#pragma once

#include <cstdint>

#include "pay/yield_predictor.hpp"

namespace hob::mpi::yielding {

/// From now on, waits inside the library yield: `always`, or as long as the core comes back soon
/// (YieldPredictor), since those who take it may be strangers. After MPI_Init, once; nothing where
/// the library offers no way, or calls back with locks held (MPI_THREAD_MULTIPLE). Returns whether
/// it does.
bool start(bool always);

/// After start(): otherwise from now on.
void change(bool always);

/// No longer, for good.
void end();

/// Gives the core to others for once, at this moment (nanoseconds). Returns when it came back.
std::uint64_t give_core_away(YieldPredictor& predictor, std::uint64_t now);

/// In a loop of Hob's own, after so many polls of this wait that found nothing: yields if it is
/// time to.
void after_polls(unsigned polls);

/// Around loops of Hob's own that poll the library and know better when to yield. Not nested.
void suspend(bool on);

}  // namespace hob::mpi::yielding
