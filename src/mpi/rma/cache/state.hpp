// What holds for the caches of all windows. All mutable globals of this layer that others see are
// here.
#pragma once

#include <atomic>

namespace hob::mpi {

/// True while gets are recorded. Set at MPI_Init. Global, since there is one trace of a process,
/// and every get asks.
inline bool tracing = false;

/// Epochs of all windows in which this process may read its own memory by loads, and learn so of
/// others' writes (own_epoch.hpp). Global, since what it learns is not about one window.
inline std::atomic<int> own_epochs_of_loads{0};

}  // namespace hob::mpi
