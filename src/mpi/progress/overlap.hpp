// Communication goes on while the program computes: one thread of Hob's enters the MPI library,
// only while the program is outside it and something is under way. docs/overlap.md.
//
// The generated wrappers call what is here. With `overlap = off` they look at two variables that
// never change. With `overlap = watch` there is no thread, but waits are measured as with one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "mpi/core/handle.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/state.hpp"
#include "pay/price_range.hpp"

namespace hob::mpi::overlap_thread {

/// Whether MPI_Init asks for MPI_THREAD_SERIALIZED where the program asks for less: what to ask
/// for.
int level_to_ask_for(int required);

/// What the library gave for it, and what it would have given the program. Before start().
void asked(int required, int provided);

/// What MPI_Query_thread returns to the program, where the library says `level`.
int level_to_report(int level);

/// After MPI has started, before the program can do anything. `drive` lets the library advance
/// without a communicator of Hob's, which a program of sessions does not have. `complete` says
/// whether a request is complete, as far as that is known. `make` makes postponed starts
/// (state.hpp). Any thread calls them.
void start(void (*drive)(), bool (*complete)(MPI_Request), void (*make)(bool by_thread));

/// Before MPI ends: no thread, and nothing is watched any more.
void finish();

/// What it did.
struct Stats {
  std::uint64_t polls = 0;
  std::uint64_t useful = 0;     ///< of them, those that moved something
  std::uint64_t taken_ns = 0;   ///< processor time of the thread
  std::uint64_t waited_ns = 0;  ///< of the program, for the thread to leave the library
  std::uint64_t started = 0;    ///< starts that it made in the program's place
  pay::SavedRange saved{};      ///< ns by which waits were shorter, as far as is known
  std::uint64_t helped = 0;     ///< phases in which it could help
  std::uint64_t alone = 0;      ///< phases without help, to compare or since help did not pay
  std::uint64_t alone_outside_ns = 0;  ///< in these, the program was outside the library
  std::uint64_t alone_unused_ns = 0;   ///< of that, processor time that it did not use (watching)
  std::uint64_t alone_waited_ns = 0;   ///< the waits that followed, and long starts
  std::uint64_t alone_within_ns = 0;   ///< the same, each up to the computing before
};

/// From any thread.
Stats stats();

/// Why there is no overlap, or "" if there is.
const std::string& reason();

/// In a call of the program's: makes all starts that are left, and reports errors of those that the
/// thread has made.
inline void make_pending() {
  if (HOB_UNLIKELY(postponed.pending.load(std::memory_order_relaxed) != 0)) postponed.make(false);
}

/// Whether the thread makes starts in the program's place now. Begins a phase of computing if there
/// is none. Not with many threads.
bool takes_starts();

/// A start is left to the thread: it polls soon, whatever it had planned.
void hurry();

/// The start that is reported next took the program so many ticks, which the thread could have
/// spared.
void note_long_start(std::uint64_t ticks);

/// A call of the program's begins and ends in which it is inside. The thread waits meanwhile, and
/// if it is inside, the program waits for one poll. The end notifies error handlers of what they
/// have not heard.
inline void begin_call() {
  enter();
  calling_thread.call_announced = true;
}
inline void end_call() {
  calling_thread.call_announced = false;
  leave();
  if (HOB_UNLIKELY(depth == kUnreported)) report_errors();
}

/// A program's call from outside the library.
class InsideToStart {
 public:
  InsideToStart() { begin_call(); }
  ~InsideToStart() noexcept(false) { end_call(); }
  InsideToStart(const InsideToStart&) = delete;
  InsideToStart& operator=(const InsideToStart&) = delete;
};

/// The same for all calls but those that start a large message or collective operation, and
/// receives: what the thread was to start, and has not, comes first.
class Inside : InsideToStart {
 public:
  Inside() { make_pending(); }
};

/// For wrappers: whether calls must say when they are inside.
inline bool announces_calls() { return concerns.calls_announced.load(std::memory_order_relaxed); }

/// For wrappers: this call comes from outside the library (not from a function of the program's
/// that the library calls, nor from Hob or the library itself).
inline bool from_outside() { return depth == 0 && !inside(); }

/// Whether so many elements may be worth looking after, as far as is known without asking the
/// library: a wrong datatype is to fail in the program's call.
template <class Count>
bool may_be_large(Count count, MPI_Datatype datatype) {
  const KnownSize& known = own_state.known_size;
  return datatype != known.datatype || count >= known.large_count;
}

/// For wrappers of calls that start a message: whether there is anything to say. A small one while
/// nothing is under way is what it is without overlap, and so is a large one that is passed over,
/// which this counts.
inline bool concerned(std::int64_t count, MPI_Datatype datatype) {
  if (announces_calls()) return true;
  return may_be_large(count, datatype) && !watched.attention.passes_over();
}

/// For wrappers of MPI_Start and MPI_Startall: the same.
inline bool concerned_by_starts() {
  return announces_calls() || watched.has_persistent.load(std::memory_order_relaxed);
}

/// The same where nothing may come between the wrapper and its caller.
class InsideIfAnnounced {
 public:
  InsideIfAnnounced() : entered_(announces_calls() && from_outside()) {
    if (!entered_) return;
    begin_call();
    make_pending();
  }
  ~InsideIfAnnounced() noexcept(false) {
    if (entered_) end_call();
  }
  InsideIfAnnounced(const InsideIfAnnounced&) = delete;
  InsideIfAnnounced& operator=(const InsideIfAnnounced&) = delete;

 private:
  bool entered_;
};

/// MPI_Isend and the like have returned a request: `count` elements of a type.
void started_large_message(MPI_Request request, std::int64_t count, MPI_Datatype datatype);
inline void started_message(MPI_Request request, std::int64_t count, MPI_Datatype datatype) {
  if (may_be_large(count, datatype)) started_large_message(request, count, datatype);
}

/// A nonblocking collective operation: `count` elements of a type, less than 0 if that is not
/// known; of each process of `comm`, if that is given. With an operation of the program's, no other
/// thread but the program may advance anything until it is complete, since it would run in the
/// thread.
void started_collective(MPI_Request request, std::int64_t count, MPI_Datatype datatype,
                        MPI_Comm comm = MPI_COMM_NULL);
void started_reduction(MPI_Request request, MPI_Op op, std::int64_t count, MPI_Datatype datatype,
                       MPI_Comm comm = MPI_COMM_NULL);

/// MPI_Type_free of this type has succeeded: another one may be given its handle.
void forget_size(MPI_Datatype datatype);

/// MPI_File_iread and the like: `count` elements of a type; or their collective forms.
void started_file(MPI_Request request, std::int64_t count, MPI_Datatype datatype);
void started_collective_file(MPI_Request request);

/// MPIX_Async_start: a function of the program's is called by whatever advances the library from
/// now on. The thread does not enter it any more.
void started_task();

/// The same for what MPI_Send_init and the like have made, which starts later.
void made_message(MPI_Request request, std::int64_t count, MPI_Datatype datatype);
void made_collective(MPI_Request request, std::int64_t count, MPI_Datatype datatype,
                     MPI_Comm comm = MPI_COMM_NULL);
void made_reduction(MPI_Request request, MPI_Op op, std::int64_t count, MPI_Datatype datatype,
                    MPI_Comm comm = MPI_COMM_NULL);
void started_persistent(int count, const MPI_Request* requests);

/// MPI_Request_free of this request has succeeded.
void freed_request(MPI_Request request);

/// The program has freed an object, or deletes an attribute. If it has ever registered a delete
/// callback for objects of this kind, the thread does not enter the library any more: the last use
/// of the object may end in it, which calls the callback.
void freed_object(FreedKind kind);

/// A window was made: as long as there is one whose memory other nodes may reach, the thread serves
/// their operations while the program computes. Windows that ghosts serve need no thread.
void exposed_window(MPI_Win win);

/// MPI_Win_free of it has succeeded. Does what freed_object() does, too.
void freed_window(MPI_Win win);

/// How many requests with this one's hash are looked after.
inline std::atomic<std::uint8_t>& tracked_like(MPI_Request request) {
  return watched.hashes[handle_hash(handle_bits(request), Watched::kHashBits)];
}

/// Around a call that completes requests: remembers which of them are tracked, since their handles
/// are overwritten. A call that concerns none costs a load for each request.
class Completing {
 public:
  /// `waits`: the call blocks until something is complete.
  Completing(int count, const MPI_Request* requests, bool waits) : requests_(requests) {
    bool any = false;
    for (int i = 0; requests && i < count; ++i)
      any |= tracked_like(requests[i]).load(std::memory_order_relaxed) != 0;
    if (HOB_UNLIKELY(any)) find_tracked(count, waits);
  }
  ~Completing() {
    if (any_) forget();
  }
  Completing(const Completing&) = delete;
  Completing& operator=(const Completing&) = delete;

  /// What the call has completed; without any of these, those whose handles have changed.
  void all() {
    if (any_) end_all();
  }
  void one(int index) {
    if (any_) end_one(index);
  }
  void some(int count, const int* indices) {
    if (any_) end_some(count, indices);
  }

 private:
  void find_tracked(int count, bool waits);
  void forget();
  void end_all();
  void end_one(int index);
  void end_some(int count, const int* indices);
  void remove(int index);
  template <class Remove>
  void end(Remove remove);  ///< the wait has ended, and `remove` removes what is complete

  const MPI_Request* requests_;
  bool any_ = false;  ///< are tracked
  bool ended_ = false;
  std::uint64_t began_ = 0;  // ticks; 0: not measured
  std::size_t first_ = 0;    // of its rows in the table of tracked operations: this thread's
};

}  // namespace hob::mpi::overlap_thread
