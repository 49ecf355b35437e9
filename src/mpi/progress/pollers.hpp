// The parts of Hob that must be polled while something is under way.
#pragma once

namespace hob::mpi {

/// A part of Hob that polls. `advance` does what can be done without blocking; `repost_natively`
/// gives everything under way to the MPI library, so that it completes without Hob (null if it
/// cannot). Both may be called from any thread, from within MPI too, and must then do nothing if
/// they would have to wait for another thread.
/// `advance_by_thread` is for the thread of overlap, while the program is outside: if nothing but
/// this part is under way, and nothing of it may end in functions of the program's, it advances,
/// and returns true. Else it does nothing, and that thread must stay out of the library.
struct Poller {
  void (*advance)() = nullptr;
  void (*repost_natively)() = nullptr;
  bool (*advance_by_thread)() = nullptr;
};

/// Adds a part, for good. Not thread safe: called while MPI starts.
void add_poller(const Poller& poller);

/// Forgets all parts; advance() works (again). Not thread safe: called while MPI starts.
void begin_polling();

/// From now on, advance() does nothing.
void end_polling();
/// From now on, callbacks that the library waits for say that they are done; advance() goes on.
void end_library_polling();
bool polling_ended();

/// Advances every part once. A call from within itself does nothing.
void advance();

/// The same, from within the library: Hob's calls to it must not come back into Hob's wrappers.
void advance_from_library();

/// As long as it lives, neither does anything in this thread.
class NotAdvancing {
 public:
  NotAdvancing();
  ~NotAdvancing();
  NotAdvancing(const NotAdvancing&) = delete;
  NotAdvancing& operator=(const NotAdvancing&) = delete;
};

/// For the thread of overlap: whether it may advance the library, as far as Hob's parts are
/// concerned. What it may advance of theirs is advanced.
bool advance_by_thread();

/// Every part gives to the library what is under way.
void repost_all_natively();

}  // namespace hob::mpi
