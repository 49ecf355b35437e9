// Order between the program's own loads and stores and those of other processes in shared memory.
#pragma once

#include <atomic>

namespace hob::mpi {

/// A full fence.
inline void memory_fence() {
#if defined(__SANITIZE_THREAD__)
  // The thread sanitizer does not know fences, but what orders all writes to one place.
  static std::atomic<unsigned> order{0};
  order.fetch_add(1, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace hob::mpi
