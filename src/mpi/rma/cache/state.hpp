// What holds for the caches of all windows. All mutable globals of this layer that others see are
// here.
#pragma once

namespace hob::mpi {

/// True while gets are recorded. Set at MPI_Init. Global, since there is one trace of a process,
/// and every get asks.
inline bool tracing = false;

}  // namespace hob::mpi
