// How this process's MPI library lets Hob advance. Global, since blocking calls look at it before
// they enter the library, and callbacks of the library have no argument. All mutable globals of
// this layer that others see are here. Written while MPI starts, but for messages_found.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/pmpi/state.hpp"
#include "overlap/presence.hpp"

namespace hob::mpi {

/// Messages that advance() has found for receives, all in all. Written under a lock.
inline std::atomic<std::uint64_t> messages_found{0};

/// The MPI library calls advance() itself whenever it waits, or whenever it waits for anything but
/// the synchronisation of a window.
inline bool library_calls_back = false;
inline bool windows_call_back = false;

/// With many threads and a library that does not call back, a thread of Hob's own advances its
/// things while threads of the program are blocked inside the library.
inline bool has_helper = false;

/// Overlap (overlap.hpp). Starts of operations are looked at; set while MPI starts and ends.
inline bool starts_tracked = false;

/// Something is under way that the overlap thread may advance: it may enter the library, and every
/// call of the program's says when it does. Written inside `presence`.
inline std::atomic<bool> calls_announced{false};

/// Who is inside the library, while calls are watched.
inline constinit overlap::Presence presence;

/// With many threads: this one has entered `presence`.
inline thread_local bool inside_presence __attribute__((tls_model("initial-exec"))) = false;

namespace overlap_thread {

/// This thread of the program's enters or leaves the library.
inline void enter() {
  if (many_threads) inside_presence = true;
  presence.enter();
}
inline void leave() {
  presence.leave();
  if (many_threads) inside_presence = false;
}

/// This thread of the program's has entered.
inline bool inside() { return many_threads ? inside_presence : presence.inside(); }

}  // namespace overlap_thread

namespace gathered {

/// Batches that wait, of all windows (gathered.hpp). Written by count() (wrapper.hpp).
inline std::atomic<int> waiting{0};

/// Sends those that are old, or all of them. Set with the first window that has batches.
inline void (*send)(bool all) = nullptr;

}  // namespace gathered

}  // namespace hob::mpi
