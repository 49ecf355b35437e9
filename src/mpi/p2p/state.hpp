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

class Channel;
class PostedReceive;

/// What the fast path was given, of which it counts down.
struct Granted {
  Channel* channel = nullptr;
  std::int32_t nonblocking = 0, blocking = 0;
  bool lone = false;  ///< the blocking ones have the queue to themselves
};

/// Written under the gate.
struct Matching {
  /// Messages that Hob has dequeued and that are not received yet (its UMQ).
  std::atomic<std::uint64_t> queued{0};
  /// Bytes of these that the library keeps here.
  std::atomic<std::uint64_t> queued_bytes{0};

  /// With many threads: a communicator on which the library has all receives for good, so that
  /// nothing is to be counted or locked.
  std::atomic<MPI_Comm> left_comm{};

  /// What the fast path was given last.
  Granted granted;

  /// The channel that was asked for last, by its communicator's bits: most programs use one at a
  /// time.
  std::uint64_t last_key = 0;
  Channel* last_channel = nullptr;
  /// The number of the next channel, which the queues know it by.
  std::uint32_t next_context = 0;

  /// Those that may be used again.
  PostedReceive* free_receives = nullptr;
};
/// Of this process.
inline constinit Matching matching;

/// Receives that may go to the library unseen.
inline FastPath fast_path;

/// With many threads, those of this one; null before its first grant (direct_grants.cpp).
inline thread_local match::DirectCalls* own_direct __attribute__((tls_model("initial-exec"))) =
    nullptr;

inline bool left(MPI_Comm comm) {
  return comm == matching.left_comm.load(std::memory_order_relaxed);
}

}  // namespace hob::mpi::p2p
