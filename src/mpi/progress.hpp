// What Hob must go on doing while the program is inside MPI: receives that it holds, operations
// that ghosts serve. docs/takeover.md, "Progress".
#pragma once

#include <sched.h>

#include <atomic>

namespace hob::mpi {

/// How many parts of Hob have something under way that only Hob can advance.
inline std::atomic<int> parts_under_way{0};

/// The MPI library calls advance() itself whenever it waits. Set by install_callback().
inline bool library_calls_back = false;

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

/// A part has something under way from now on, or no longer.
void under_way();
void none_under_way();

/// Advances every part once. A call from within itself does nothing.
void advance();

/// True if a call that blocks inside the MPI library would leave something behind that only Hob
/// can advance.
inline bool blocking_needs_care() {
  return parts_under_way.load(std::memory_order_relaxed) != 0 && !library_calls_back;
}

/// Before a call that blocks inside the MPI library: gives everything under way to the library.
void before_blocking();

/// MPI ends: no more calls from within the library.
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
