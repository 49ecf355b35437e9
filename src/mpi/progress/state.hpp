// How this process's MPI library lets Hob advance. Global, since blocking calls look at it before
// they enter the library, and callbacks of the library have no argument. All mutable globals of
// this layer that others see are here.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/pmpi/state.hpp"
#include "overlap/attention.hpp"
#include "overlap/presence.hpp"

namespace hob::mpi {

/// What advances Hob's things while a call of the program's blocks. Written while MPI starts.
struct OwnProgress {
  /// The MPI library calls advance() itself whenever it waits, or whenever it waits for anything
  /// but the synchronisation of a window.
  bool library_calls_back = false;
  bool windows_call_back = false;

  /// With many threads and a library that does not call back, a thread of Hob's own advances its
  /// things while threads of the program are blocked inside the library.
  bool has_helper = false;

  /// Something has been under way that only Hob can advance. Until then, a thread that blocks pays
  /// for no fence: whoever sets this pays for all threads.
  std::atomic<bool> was_under_way{false};

  /// Hob's callback in the library's progress: whether there is to be one, and is; and whether
  /// MPICH's MPI_Finalize first waits until it is done, as for all that MPIX_Async_start has
  /// started.
  bool wants_callback = true;
  std::atomic<bool> has_callback{false};
  bool callback_is_awaited = false;

  /// Pollers are not called any more (pollers.hpp); the library's callbacks alone do not call them.
  std::atomic<bool> ended{false}, callbacks_ended{false};

  /// Messages that advance() has found for receives, all in all. Written under a lock.
  std::atomic<std::uint64_t> messages_found{0};
};
/// Of this process.
inline constinit OwnProgress own_progress;

namespace helper {

/// How many calls of this thread are blocked inside the library; null before the first one.
inline thread_local std::atomic<int>* own_calls __attribute__((tls_model("initial-exec"))) =
    nullptr;

}  // namespace helper

/// Who is inside the library, while calls are watched.
inline constinit overlap::Presence presence;

namespace overlap_thread {

/// The datatype of this thread's last large or small message: most have that of the one before.
struct KnownSize {
  MPI_Datatype datatype{};
  /// Nothing of so many elements is called small: it may be of bytes.
  static constexpr std::int32_t kMost = 262144;
  std::int32_t large_count = 0;  ///< so many elements are worth looking after, and more
};
/// What overlap keeps of a thread of the program's.
struct OwnState {
  /// With many threads: its slot in `presence`; null before it has entered.
  overlap::Presence::Slot* slot = nullptr;
  KnownSize known_size;
};
inline constinit thread_local OwnState own_state __attribute__((tls_model("initial-exec")));

/// Takes the slot, until the thread ends.
[[gnu::cold]] void take_slot();

/// This thread of the program's enters or leaves the library.
inline void enter() {
  if (!many_threads) return presence.enter();
  if (!own_state.slot) [[unlikely]]
    take_slot();
  presence.enter(*own_state.slot);
}
inline void leave() {
  if (own_state.slot) return overlap::Presence::leave(*own_state.slot);
  presence.leave();  // also where the program has begun to have many threads meanwhile
}

/// This thread of the program's has entered.
inline bool inside() {
  return own_state.slot ? overlap::Presence::inside(*own_state.slot) : presence.inside_alone();
}

/// Which operations are looked after.
struct Watched {
  /// Starts of operations are looked at; set while MPI starts and ends.
  bool starts = false;

  /// Those of so many bytes. Written while MPI starts.
  std::int64_t large_bytes = 0;

  /// With many threads, of whoever holds overlap's lock; starts are passed over without it.
  overlap::Attention attention;

  /// There are persistent requests whose starts are to be watched.
  std::atomic<bool> has_persistent{false};

  /// Whether a request is complete: what start() was given. Written while MPI starts.
  bool (*is_complete)(MPI_Request) = nullptr;

  /// How many requests with this hash there are; at most 255, and these are never counted down. So
  /// most waits find out by a load or two that they concern none.
  static constexpr int kHashBits = 8;
  std::atomic<std::uint8_t> hashes[std::size_t{1} << kHashBits]{};
};
/// Of this process.
inline constinit Watched watched;

}  // namespace overlap_thread

namespace batched {

struct Waiting {
  /// Batches that wait, of all windows (batched.hpp). Written by count() (wrapper.hpp).
  std::atomic<int> number{0};

  /// Sends those that are old, or all of them. Set with the first window that has batches.
  std::atomic<void (*)(bool all)> send{nullptr};

  /// Sends those that are old, and calls no error handler of the program's. Set with `send`.
  std::atomic<void (*)()> send_without_handlers{nullptr};

  /// Called when the first batch begins to wait. Set where there is a thread to send it meanwhile.
  void (*begins)() = nullptr;

  /// Waits of the program for requests that were complete from the start, while batches waited.
  std::atomic<std::uint64_t> served_waits{0};

  /// In ticks: no batch is old before `due`; after it, the next one is `patience` later.
  std::atomic<std::uint64_t> due{0}, patience{0};
};
/// Of this process.
inline constinit Waiting waiting;

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

  /// Starts have been left to the thread, or might have been: what it learned of them is there.
  bool has_history = false;
};
/// Of this process.
inline constinit PostponedStarts postponed;

}  // namespace hob::mpi
