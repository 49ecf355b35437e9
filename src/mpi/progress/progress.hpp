// What Hob must go on doing while the program is inside MPI: receives that it holds, operations
// that ghosts serve. docs/developers/takeover.md, "Progress".
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// How many parts of Hob have something under way that only Hob can advance.
inline std::atomic<int> parts_under_way{0};

/// Messages that advance() has found for receives, all in all. Written under a lock.
inline std::atomic<std::uint64_t> messages_found{0};

/// The MPI library calls advance() itself whenever it waits, or whenever it waits for anything but
/// the synchronisation of a window. Set by install_callback().
inline bool library_calls_back = false;
inline bool windows_call_back = false;

/// With many threads and a library that does not call back, a thread of Hob's own advances its
/// things while threads of the program are blocked inside the library.
inline bool has_helper = false;

/// A part of Hob that polls. `advance` does what can be done without blocking; `hand_over` gives
/// everything under way to the MPI library, so that it completes without Hob (null if it cannot).
/// Both may be called from any thread, from within MPI too, and must then do nothing if they would
/// have to wait for another thread.
struct Poller {
  void (*advance)() = nullptr;
  void (*hand_over)() = nullptr;
};

/// Adds a part, for good. Not thread safe: called while MPI starts.
void add_poller(const Poller& poller);

/// Whether the library may be called from any thread at any time, so that a helper may be there.
/// `callbacks`: use those that the library offers. Not thread safe: called while MPI starts.
void prepare_progress(bool any_thread, bool callbacks);

/// A part has something under way from now on, or no longer.
void under_way();
void none_under_way();

/// Advances every part once. A call from within itself does nothing.
void advance();

/// The same, from within the library: Hob's calls to it must not come back into Hob's wrappers.
void advance_from_library();

/// True if a call that blocks inside the MPI library would leave something behind that only Hob
/// can advance, unless its helper does.
inline bool blocking_needs_care() {
  return parts_under_way.load(std::memory_order_relaxed) != 0 && !library_calls_back;
}

/// Around a call that blocks inside the MPI library: where there is a helper, it works meanwhile.
class Blocking {
 public:
  Blocking() : noted_(has_helper) {
    if (HOB_UNLIKELY(noted_)) enter();
  }
  ~Blocking() {
    if (HOB_UNLIKELY(noted_)) leave();
  }
  Blocking(const Blocking&) = delete;
  Blocking& operator=(const Blocking&) = delete;

 private:
  static void enter();
  static void leave();
  bool noted_;
};

/// Around a call that blocks in any way but the ones that Hob can take apart: where nothing else
/// helps, what is under way goes to the library first.
class BlockingUnknown : public Blocking {
 public:
  BlockingUnknown() {
    if (HOB_UNLIKELY(blocking_needs_care() && !has_helper)) hand_over();
  }

 private:
  friend class BlockingWindow;
  static void hand_over();
};

/// The same for a call that synchronises a window.
class BlockingWindow : public Blocking {
 public:
  BlockingWindow() {
    if (HOB_UNLIKELY(parts_under_way.load(std::memory_order_relaxed) != 0 && !windows_call_back &&
                     !has_helper))
      BlockingUnknown::hand_over();
  }
};

/// In a call that the program polls and that may not advance anything by itself.
inline void advance_polling() {
  if (HOB_UNLIKELY(parts_under_way.load(std::memory_order_relaxed) != 0)) advance();
}

/// MPI ends: no more calls from within the library, and no helper.
void end_callbacks();

/// Waits politely between looks: at first not at all, then it lets other processes run.
class Pause {
 public:
  void operator()() {
    if (++looks_ > kLooks) sched_yield();
  }

 private:
  static constexpr int kLooks =
      10000;  // about a millisecond: a yield on a full machine costs a time slice
  int looks_ = 0;
};

}  // namespace hob::mpi
