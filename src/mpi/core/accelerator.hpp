// Memory that the CPU cannot touch: that of accelerators, found through the runtime that the
// program has loaded. Nothing is linked.
#pragma once

#include "mpi/core/state.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Looks whether one is. At the start of MPI and where programs make windows: a runtime that is
/// loaded later is seen at the next of these. Thread safe.
void look_for_accelerators();

/// Asks the runtimes. Thread safe; some hundred nanoseconds.
bool asked_accelerator(const void* address) noexcept;

/// Whether this address is an accelerator's memory, which no part of Hob may read or write. Host
/// memory that is registered with an accelerator, or shared with it, is not. One branch where no
/// runtime is loaded.
inline bool on_accelerator(const void* address) noexcept {
  return HOB_UNLIKELY(accelerator_loaded.load(std::memory_order_relaxed)) &&
         asked_accelerator(address);
}

}  // namespace hob::mpi
