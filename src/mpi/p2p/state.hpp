// Matching in this process. Global, since the wrappers look at it first of all, and since the
// library's callbacks have no argument for it. All mutable globals of this layer that others see
// are here.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/p2p/express.hpp"
#include "mpi/p2p/gate.hpp"

namespace hob::mpi::p2p {

/// The one gate of a process.
inline Gate gate;

/// Messages that Hob has dequeued and that nobody has received (its UMQ). Written under the gate.
inline std::atomic<std::uint64_t> queued{0};

/// Bytes of these that the library keeps here. Written under the gate.
inline std::atomic<std::uint64_t> queued_bytes{0};

/// Receives that may go to the library unseen.
inline Express express;

}  // namespace hob::mpi::p2p
