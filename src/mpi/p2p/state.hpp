// Matching in this process. Global, since the wrappers look at it first of all, and since the
// library's callbacks have no argument for it. All mutable globals of this layer that others see
// are here.
#pragma once

#include <atomic>
#include <cstdint>

#include "match/direct_calls.hpp"
#include "mpi/p2p/fast_path.hpp"
#include "mpi/p2p/gate.hpp"

namespace hob::mpi::p2p {

/// The one gate of a process.
inline Gate gate;

/// Messages that Hob has dequeued and that are not received yet (its UMQ). Written under the gate.
inline std::atomic<std::uint64_t> queued{0};

/// Bytes of these that the library keeps here. Written under the gate.
inline std::atomic<std::uint64_t> queued_bytes{0};

/// Receives that may go to the library unseen.
inline FastPath fast_path;

/// With many threads, those of this one; null before its first grant (direct_grants.cpp).
inline thread_local match::DirectCalls* own_direct __attribute__((tls_model("initial-exec"))) =
    nullptr;

/// With many threads: a communicator on which the library has all receives for good, so that
/// nothing is to be counted or locked. Written under the gate.
inline std::atomic<MPI_Comm> left_comm{};
inline bool left(MPI_Comm comm) { return comm == left_comm.load(std::memory_order_relaxed); }

}  // namespace hob::mpi::p2p
