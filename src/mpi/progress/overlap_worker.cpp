#include "mpi/progress/overlap_worker.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/own_thread.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/batched.hpp"
#include "mpi/progress/pollers.hpp"
#include "mpi/progress/state.hpp"
#include "os/sockets.hpp"
#include "os/wake_pipe.hpp"
#include "overlap/pacing.hpp"

namespace hob::mpi::overlap_thread::worker {
namespace {

/// How the thread sleeps: an arming call wakes it from long sleeps only, a start that waits for it
/// from those of more than kOverlapStartNs, too.
enum Sleep : std::uint32_t { kAwake, kShort, kLonger, kLong };

/// Nothing is ever sent with this tag on Hob's communicator. On one of this process alone, MPICH's
/// MPI_Iprobe does not look at the network.
constexpr int kNoTag = 32'000;

/// The thread, and what the program's threads ask of it. One of a process.
struct Worker {
  double share = 0;  ///< of a processor, for polls that find nothing
  void (*drive)() = nullptr;
  bool (*polled)() = nullptr;
  OwnThread thread;
  std::atomic<bool> ending{false};
  std::atomic<bool> allowed{false};
  std::atomic<bool> patient{false};
  std::atomic<std::uint32_t> sleep_word{kAwake};
  std::atomic<bool> at_sockets{false};  ///< it sleeps at descriptors, and not at the word
  std::atomic<std::uint64_t> polls{0};
  std::atomic<std::uint64_t> useful_polls{0};
  std::atomic<std::uint64_t> taken_ns{0};
  std::uint64_t used_before = 0;  ///< processor time of the thread at the end of the last poll: ns
};

/// Global, since fork and exit handlers have no argument.
constinit Worker own;

/// What wakes the thread where it waits for sockets, too.
os::WakePipe& wake_pipe() {
  static auto& only = *new os::WakePipe;  // the process may end with the thread
  return only;
}

/// Of files; a request that is complete is not asked for again. Inside `presence`.
std::vector<MPI_Request>& asked_for() {
  static auto* const all = new std::vector<MPI_Request>;  // the process may end with the thread
  return *all;
}

/// Until the word is no longer `how`, or for so long (0: until then).
void sleep_at_word(std::uint64_t ns, Sleep how) {
  const timespec time{static_cast<time_t>(ns / 1'000'000'000),
                      static_cast<long>(ns % 1'000'000'000)};
  ::syscall(SYS_futex, &own.sleep_word, FUTEX_WAIT_PRIVATE, how, ns != 0 ? &time : nullptr, nullptr,
            0);
}

/// The same, or until a socket has changed: never for ever, since the program may close the pipe.
/// Returns how many have; -1, and no sleep, where there are none.
int sleep_at(os::Sockets& sockets, std::uint64_t ns, Sleep how) {
  const int wakeup = wake_pipe().descriptor();
  own.at_sockets.store(true, std::memory_order_seq_cst);
  const bool woken = own.sleep_word.load(std::memory_order_seq_cst) != how;
  const int changed = sockets.wait(wakeup, woken ? 0 : ns != 0 ? ns : tuning::kOverlapPatientNs);
  own.at_sockets.store(false, std::memory_order_relaxed);
  if (changed > 0 && sockets.readable(wakeup)) wake_pipe().drain();
  return changed == 0 && woken ? 1 : changed;
}

/// Until woken, or for so long (0: until woken); with sockets, until one of them has changed.
/// Returns how many have; -1 where there are none.
int sleep_for(std::uint64_t ns, Sleep how, os::Sockets* sockets = nullptr) {
  if (how == kShort && ns > tuning::kOverlapStartNs) how = kLonger;
  own.sleep_word.store(how, std::memory_order_seq_cst);
  if (postponed.unmade.load(std::memory_order_seq_cst) != 0)
    ns = ns != 0 ? std::min(ns, tuning::kOverlapStartNs) : tuning::kOverlapStartNs;
  const bool needed = how == kLong && ns == 0 && own.allowed.load(std::memory_order_seq_cst);
  int changed = -1;
  if (needed || own.ending.load(std::memory_order_seq_cst))
    changed = 0;
  else if (!sockets || (changed = sleep_at(*sockets, ns, how)) < 0)
    sleep_at_word(ns, how);
  own.sleep_word.store(kAwake, std::memory_order_relaxed);
  return changed;
}

void wake_thread() {
  own.sleep_word.store(kAwake, std::memory_order_seq_cst);
  if (own.at_sockets.load(std::memory_order_seq_cst))
    wake_pipe().wake();
  else
    ::syscall(SYS_futex, &own.sleep_word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

/// When the thread leaves the library: after so many polls that moved nothing, and not before so
/// many ns after one that did. Sockets wake it again by themselves.
struct Patience {
  int vain_polls;
  std::uint64_t linger_ns;
};
constexpr Patience kAlone{tuning::kOverlapVainPolls, tuning::kOverlapLingerNs};
constexpr Patience kWithSockets{tuning::kOverlapSocketPolls, 0};

void poll() {
  int flag = 0;
  if (context().comm != MPI_COMM_NULL)
    real::Iprobe(MPI_ANY_SOURCE, kNoTag, context().comm, &flag, MPI_STATUS_IGNORE);
  else
    own.drive();
  std::erase_if(asked_for(), [](MPI_Request request) {
    int complete = 0;
    return real::Request_get_status(request, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS ||
           complete;
  });
}

/// Processor time of the poll that has ended, and of the rest before it: on a machine that others
/// use, a poll may be interrupted for long.
std::uint64_t cost_of_poll() {
  const std::uint64_t used = thread_nanoseconds(),
                      cost = used - std::exchange(own.used_before, used);
  own.taken_ns.fetch_add(cost, std::memory_order_relaxed);
  return cost;
}

/// A poll took so long, ns, since something else had the processor: it may have moved nothing.
bool interrupted(std::uint64_t took) { return 2 * (thread_nanoseconds() - own.used_before) < took; }

/// Polls until nothing has moved for a while, or the program wants in. Inside the library. Returns
/// whether anything moved. `no_event`: every transport signals events, and none did.
bool burst(overlap::PollMeter& meter, const Patience& patience, bool no_event) {
  std::uint64_t before = ticks(), last_moved = before;
  bool any = batched::send_by_thread();
  if (postponed.unmade.load(std::memory_order_relaxed) != 0) {
    postponed.make(true);
    own.polls.fetch_add(1, std::memory_order_relaxed);
    own.useful_polls.fetch_add(1, std::memory_order_relaxed);
    any = true;
    before = last_moved = ticks();
  }
  for (int vain = 0; vain < patience.vain_polls ||
                     (any && nanoseconds_in(before - last_moved) < patience.linger_ns);) {
    const std::uint64_t found = messages_found.load(std::memory_order_relaxed);
    if (!advance_by_thread()) break;
    poll();
    const std::uint64_t now = ticks();
    const std::uint64_t took = nanoseconds_in(now - before);
    const bool moved = (meter.moved(took) && !no_event && !interrupted(took)) ||
                       messages_found.load(std::memory_order_relaxed) != found;
    before = now;
    own.polls.fetch_add(1, std::memory_order_relaxed);
    if (moved) {
      own.useful_polls.fetch_add(1, std::memory_order_relaxed);
      last_moved = now;
      any = true;
      vain = 0;
    } else {
      ++vain;
    }
    if (presence.inside() || own.ending.load(std::memory_order_relaxed)) break;
  }
  // A peer that only asks, and then reads or writes by itself, takes less than a poll may take.
  if (own.polled() && !any) {
    own.useful_polls.fetch_add(1, std::memory_order_relaxed);
    any = true;
  }
  return any;
}

/// What a poll found.
enum class Found { kProgramInside, kProgramInsideAgain, kProgramWasInside, kNothing, kMoved };

/// One poll of the thread; `seen` is where the program was before. `signalled`: a rank wants
/// something; `no_event`: every transport signals events, and none did.
Found poll_once(overlap::PollMeter& meter, std::uint64_t& seen, const Patience& patience,
                bool signalled, bool no_event) {
  const std::uint64_t visits = presence.visits();
  // The program is in MPI or calls it so often that it makes progress itself.
  const bool inside = presence.inside();
  const bool again = visits != seen;
  seen = visits;
  if (inside) return again ? Found::kProgramInsideAgain : Found::kProgramInside;
  if (again && !signalled) return Found::kProgramWasInside;
  if (!presence.try_claim()) return Found::kProgramInside;
  // What the program wrote inside is visible now: whether anything is still under way. Operations
  // that it has started since the last poll move without an event.
  const bool any =
      own.allowed.load(std::memory_order_relaxed) && burst(meter, patience, no_event && !again);
  presence.release();
  return any ? Found::kMoved : Found::kNothing;
}

void* run(void*) {
  const DepthGuard guard;
  never_advance();
  ::pthread_setname_np(::pthread_self(), "hob-overlap");
  ::prctl(PR_SET_TIMERSLACK, tuning::kOverlapSlackNs, 0, 0, 0);
  overlap::PollMeter meter;
  overlap::Pacing pacing({.longest_event_driven_ns = tuning::kOverlapPatientNs,
                          .longest_inside_ns = tuning::kOverlapLongestInsideNs,
                          .share = own.share},
                         monotonic_nanoseconds());
  overlap::InsidePacing inside_pacing({.rest = tuning::kOverlapInsideNs,
                                       .left_rest = tuning::kOverlapShortNs,
                                       .longest = tuning::kOverlapLongestInsideNs});
  os::Sockets sockets({.first_pause_ns = tuning::kOverlapScanNs,
                       .longest_pause_ns = tuning::kOverlapLongestScanNs,
                       .changes = true});
  Patience patience = kAlone;
  own.used_before = 0;
  std::uint64_t seen = 0;
  int idle = 0;
  bool left = false, signalled = false, no_event = false;
  while (!own.ending.load(std::memory_order_relaxed)) {
    if (own.allowed.load(std::memory_order_relaxed)) {
      if (idle > 1) pacing.begin();
      idle = 0;
    } else if (++idle > tuning::kOverlapIdlePolls) {
      sleep_for(0, kLong);
      continue;
    }
    const Found found =
        idle == 0 ? poll_once(meter, seen, patience, signalled, no_event) : Found::kNothing;
    const bool inside = found == Found::kProgramInside || found == Found::kProgramInsideAgain ||
                        found == Found::kProgramWasInside;
    // A program that left may stay outside or call again at once.
    const bool calls_on = found == Found::kProgramWasInside && left;
    left = found == Found::kProgramWasInside && !left;
    if (found == Found::kProgramInsideAgain || calls_on)
      pacing.inside_again();
    else if (idle == 0 && !inside)
      pacing.outside();
    const std::uint64_t cost = cost_of_poll();
    const std::uint64_t now = monotonic_nanoseconds();
    // Where no other rank reaches this one but over the network, its sockets signal all events.
    const bool event_driven = context().alone_on_node && patience.linger_ns == 0;
    std::uint64_t rest = pacing.polled(found == Found::kMoved, cost, now, event_driven);
    const bool waits_for_others = own.patient.load(std::memory_order_relaxed);
    // A program inside the library reads its sockets itself. When it has left, others may want
    // something, and whether it stays outside shows soon.
    const std::uint64_t most = inside ? inside_pacing.inside(left, now) : inside_pacing.outside();
    const bool exhausted = pacing.exhausted();
    if (idle != 0 || inside || (exhausted && !event_driven)) {
      if (inside && waits_for_others && !exhausted)
        rest = most;
      else if (left && !exhausted)
        rest = std::min(rest, most);
      const bool wakes = idle != 0 && rest > tuning::kOverlapShortNs && !exhausted;
      sleep_for(rest, wakes ? kLong : kShort);
      signalled = no_event = false;
      continue;
    }
    // What comes then is worth a poll, but not each piece of it.
    if (exhausted) sleep_for(std::min(rest, tuning::kOverlapExhaustedNs), kShort);
    // No socket says when a batch is old.
    const bool batches = batched::any();
    if (batches) rest = std::min(rest, tuning::kOverlapInsideNs);
    const bool by_sockets = waits_for_others && patience.linger_ns == 0 && !batches;
    if (by_sockets) rest = tuning::kOverlapPatientNs;
    const int news = sleep_for(rest, by_sockets ? kLong : kShort, &sockets);
    patience = news >= 0 ? kWithSockets : kAlone;
    signalled = by_sockets && news > 0;
    no_event = context().alone_on_node && news == 0;
    // What else comes within this time is moved by the same poll. Who wants something waits for it.
    const std::uint64_t slept = monotonic_nanoseconds() - now;
    if (!by_sockets && slept < tuning::kOverlapCollectNs)
      sleep_for(tuning::kOverlapCollectNs - slept, kShort);
  }
  return nullptr;
}

/// In a child of fork(): there is no thread, and none is inside the library.
void in_child() {
  own.thread.forget();
  starts_tracked = false;
  concerns.calls_announced.store(false, std::memory_order_relaxed);
  presence.forget_helper();
  postponed.unmade = postponed.pending = 0;
}

/// The process ends with the thread about: it must not be in a library that is being taken down.
/// Exit handlers and destructors that come later may still use MPI, and may wait for starts that
/// were left to the thread: that is made here, and nothing is left to it any more.
void at_exit() {
  if (!own.thread.runs()) return;
  own.ending.store(true, std::memory_order_seq_cst);
  starts_tracked = false;
  if (!inside()) enter();  // for good
  if (depth == 0 && postponed.pending.load(std::memory_order_relaxed) != 0) postponed.make(false);
}

void make() {
  static const bool once = [] {
    ::pthread_atfork(nullptr, nullptr, in_child);
    return std::atexit(at_exit) == 0;
  }();
  static_cast<void>(once);
  own.ending = false;
  own.thread.make<run>();
  if (!own.thread.runs()) starts_tracked = false;
}

/// A batch waits: if the thread sleeps for long, it is woken, to look after it in time.
void batch_begins() {
  if (own.thread.runs() && own.allowed.load(std::memory_order_relaxed) &&
      own.sleep_word.load(std::memory_order_relaxed) == kLong)
    wake_thread();
}

/// There is something to do. The thread is made at the first call.
void rouse() {
  if (!own.thread.runs()) return make();
  if (own.sleep_word.load(std::memory_order_seq_cst) == kLong) wake_thread();
}

}  // namespace

void prepare(double wanted_share, void (*wanted_drive)(), bool (*wanted_polled)()) {
  own.share = wanted_share;
  own.drive = wanted_drive;
  own.polled = wanted_polled;
  batched::begins = batch_begins;
  presence.set_asymmetric(overlap::prepare_asymmetric());
}

void allow(bool on) {
  own.allowed.store(on, std::memory_order_seq_cst);
  if (on) rouse();
}

void hurry() {
  if (own.thread.runs() && own.sleep_word.load(std::memory_order_seq_cst) > kShort) wake_thread();
}

void set_patient(bool on) { own.patient.store(on, std::memory_order_relaxed); }

void ask(MPI_Request request) { asked_for().push_back(request); }

void drop(MPI_Request request) { std::erase(asked_for(), request); }

void end() {
  own.allowed.store(false, std::memory_order_relaxed);  // for a session after the last one
  if (!own.thread.runs()) return;
  own.ending.store(true, std::memory_order_seq_cst);
  wake_thread();
  own.thread.join();
}

Work work() {
  return {.polls = own.polls.load(std::memory_order_relaxed),
          .useful = own.useful_polls.load(std::memory_order_relaxed),
          .taken_ns = own.taken_ns.load(std::memory_order_relaxed)};
}

}  // namespace hob::mpi::overlap_thread::worker
