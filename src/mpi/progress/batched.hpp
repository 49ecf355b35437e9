// Operations that wait in batches (rma/batch), seen from calls that do not complete them: MPI
// promises nothing of an operation before a call completes it, but programs that wait for its
// effect in another way shall not wait for ever, nor long.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/progress/state.hpp"

namespace hob::mpi::batched {

/// A batch begins to wait, at this time, and so long may it wait at least before it is old.
void opened(std::uint64_t now, std::uint64_t ticks_until_old);

inline bool any() { return waiting.number.load(std::memory_order_relaxed) != 0; }

/// By the thread of overlap, while the program is outside: sends what is old. Errors are kept for
/// the program's next call. Returns whether anything was sent.
bool send_by_thread();

/// Before a call of the program's that `blocks`, or may: nothing waits meanwhile. Before any other
/// one, what is old goes out.
[[gnu::noinline, gnu::cold]] void before_call(bool blocks);

/// Before MPI_Wait or MPI_Waitall. `served`: for requests that are complete from the start.
[[gnu::noinline, gnu::cold]] void before_wait(bool served);
/// How many waits were for such requests.
inline std::uint64_t served_waits() { return waiting.served_waits.load(std::memory_order_relaxed); }

}  // namespace hob::mpi::batched
