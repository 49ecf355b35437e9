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

/// What advances Hob's things while a call of the program's blocks. Written while MPI starts.
struct OwnProgress {
  /// The MPI library calls advance() itself whenever it waits, or whenever it waits for anything
  /// but the synchronisation of a window.
  bool library_calls_back = false;
  bool windows_call_back = false;

  /// With many threads and a library that does not call back, a thread of Hob's own advances its
  /// things while threads of the program are blocked inside the library.
  bool has_helper = false;
};
inline constinit OwnProgress own_progress;

/// Overlap (overlap.hpp). Starts of operations are looked at; set while MPI starts and ends.
inline bool starts_tracked = false;

/// Who is inside the library, while calls are watched.
inline constinit overlap::Presence presence;

namespace overlap_thread {

/// With many threads: the slot of this one in `presence`; null before it has entered.
inline thread_local overlap::Presence::Slot* own_slot __attribute__((tls_model("initial-exec"))) =
    nullptr;

/// The same, taken now, until the thread ends.
[[gnu::cold]] void take_slot();

/// This thread of the program's enters or leaves the library.
inline void enter() {
  if (!many_threads) return presence.enter();
  if (!own_slot) [[unlikely]]
    take_slot();
  presence.enter(*own_slot);
}
inline void leave() {
  if (own_slot) return overlap::Presence::leave(*own_slot);
  presence.leave();  // also where the program has begun to have many threads meanwhile
}

/// This thread of the program's has entered.
inline bool inside() {
  return own_slot ? overlap::Presence::inside(*own_slot) : presence.inside_alone();
}

/// The datatype of this thread's last large or small message: most have that of the one before.
struct KnownSize {
  MPI_Datatype datatype{};
  int bytes = 0;  ///< INT_MAX: more, or not known
};
/// Of this thread.
inline constinit thread_local KnownSize known_size __attribute__((tls_model("initial-exec")));

/// Bytes from which on an operation is looked after. Written while MPI starts.
inline std::int64_t large_bytes = 0;

/// How many requests with this hash are looked after; at most 255, and these are never counted
/// down. So most waits find out by a load or two that they concern none.
inline constexpr int kTrackedBits = 8;
inline std::atomic<std::uint8_t> tracked[std::size_t{1} << kTrackedBits];

}  // namespace overlap_thread

namespace batched {

/// Batches that wait, of all windows (batched.hpp). Written by count() (wrapper.hpp).
inline std::atomic<int> waiting{0};

/// Sends those that are old, or all of them. Set with the first window that has batches.
inline std::atomic<void (*)(bool all)> send{nullptr};

/// Sends those that are old, and calls no error handler of the program's. Set with `send`.
inline std::atomic<void (*)()> send_without_handlers{nullptr};

/// Called when the first batch begins to wait. Set where there is a thread to send it meanwhile.
inline void (*begins)() = nullptr;

}  // namespace batched

/// Starts that the program has left to the thread of overlap (requests/postponed_start.hpp). Inside
/// `presence`.
struct PostponedStarts {
  /// Those that are not made yet; and with them those whose errors the program has not heard of.
  std::atomic<int> unmade{0};
  std::atomic<int> pending{0};

  /// How many the thread has made.
  std::atomic<std::uint64_t> made_by_thread{0};

  /// Makes them in their order, all of them; or, `by_thread`, until the program comes. Set while
  /// MPI starts.
  void (*make)(bool by_thread) = nullptr;
};
inline constinit PostponedStarts postponed;

}  // namespace hob::mpi
