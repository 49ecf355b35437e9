// Operations that wait in batches (rma/batch), seen from calls that have nothing to do with
// windows: MPI promises nothing of an operation before a call completes it, but programs that wait
// for its effect in another way shall not wait for ever, nor long.
#pragma once

#include <atomic>

namespace hob::mpi::gathered {

/// Batches that wait, of all windows. Written by count() (wrapper.hpp).
inline std::atomic<int> waiting{0};

/// Sends those that are old, or all of them. Set with the first window that has batches.
inline void (*send)(bool all) = nullptr;

inline bool any() { return waiting.load(std::memory_order_relaxed) != 0; }

/// Before a call of the program's that `blocks`, or may: nothing waits meanwhile. Before any other
/// one, what is old goes out.
[[gnu::noinline, gnu::cold]] void before_call(bool blocks);

}  // namespace hob::mpi::gathered
