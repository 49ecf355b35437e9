#include "mpi/progress/overlap_worker.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/batched.hpp"
#include "mpi/progress/pollers.hpp"
#include "mpi/progress/progress_thread.hpp"
#include "mpi/progress/state.hpp"
#include "os/sockets.hpp"
#include "overlap/pacing.hpp"

namespace hob::mpi::overlap_thread::worker {
namespace {

using Rest = ProgressTask::Rest;
Rest poll_task(int changed);

/// Nothing is ever sent with this tag on Hob's communicator. On one of this process alone, MPICH's
/// MPI_Iprobe does not look at the network.
constexpr int kNoTag = 32'000;

class Course;

/// The task, and what the program's threads ask of it. One of a process. An arming call ends its
/// long rests only, a start that waits for it those of more than kOverlapStartNs, too.
struct Worker {
  double share = 0;  ///< of a processor, for polls that find nothing
  void (*drive)() = nullptr;
  bool (*polled)() = nullptr;
  ProgressTask task{poll_task};
  Course* course = nullptr;   ///< made by the first poll; the process may end with it
  bool process_ends = false;  ///< no task any more
  std::atomic<bool> allowed{false};
  std::atomic<bool> patient{false};
  std::atomic<std::uint64_t> polls{0};
  std::atomic<std::uint64_t> useful_polls{0};
  std::atomic<std::uint64_t> taken_ns{0};
};

/// Global, since fork and exit handlers have no argument.
constinit Worker own;

/// Of files; a request that is complete is not asked for again. Inside `presence`.
std::vector<MPI_Request>& asked_for() {
  static auto* const all = new std::vector<MPI_Request>;  // the process may end with the thread
  return *all;
}

/// A rest of this length (ns).
Rest rest_for(std::uint64_t ns, ProgressTask::Depth depth, os::Sockets* sockets = nullptr) {
  if (depth == ProgressTask::kShort && ns > tuning::kOverlapStartNs) depth = ProgressTask::kLonger;
  if (postponed.unmade.load(std::memory_order_seq_cst) != 0)
    ns = std::min(ns, tuning::kOverlapStartNs);
  return {.ns = ns, .depth = depth, .sockets = sockets};
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

/// A poll took so long, ns, since something else had the processor: it may have moved nothing.
bool interrupted(std::uint64_t took) { return 2 * progress_thread::cost_so_far() < took; }

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
    const std::uint64_t found = own_progress.messages_found.load(std::memory_order_relaxed);
    if (!advance_by_thread()) break;
    poll();
    const std::uint64_t now = ticks();
    const std::uint64_t took = nanoseconds_in(now - before);
    const bool moved = (meter.moved(took) && !no_event && !interrupted(took)) ||
                       own_progress.messages_found.load(std::memory_order_relaxed) != found;
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
    if (presence.inside() || own.task.ending()) break;
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

/// Polls and the rests between them, from when the task begins to its end.
class Course {
 public:
  /// What is next. `changed`: sockets since the last rest, as ProgressTask::Poll says.
  Rest next(int changed) {
    if (then_ == Then::kListen) return listen();
    if (then_ == Then::kCollect) {
      const std::uint64_t missing = heard(changed);
      then_ = Then::kPoll;
      if (missing != 0) return rest_for(missing, ProgressTask::kShort);
    }
    return poll();
  }

 private:
  enum class Then { kPoll, kListen, kCollect };

  Rest poll();
  Rest listen();
  std::uint64_t heard(int changed);
  bool event_driven() const { return context().alone_on_node && patience_.linger_ns == 0; }

  overlap::PollMeter meter_;
  overlap::Pacing pacing_{{.longest_event_driven_ns = tuning::kOverlapPatientNs,
                           .longest_inside_ns = tuning::kOverlapLongestInsideNs,
                           .share = own.share},
                          monotonic_nanoseconds()};
  overlap::InsidePacing inside_pacing_{{.rest = tuning::kOverlapInsideNs,
                                        .left_rest = tuning::kOverlapShortNs,
                                        .longest = tuning::kOverlapLongestInsideNs}};
  os::Sockets sockets_{{.first_pause_ns = tuning::kOverlapScanNs,
                        .longest_pause_ns = tuning::kOverlapLongestScanNs,
                        .changes = true}};
  Patience patience_ = kAlone;
  Then then_ = Then::kPoll;
  std::uint64_t seen_ = 0;     ///< where the program was
  std::uint64_t rest_ns_ = 0;  ///< since the last poll, which ended at polled_ns_
  std::uint64_t polled_ns_ = 0;
  int idle_ = 0;
  bool left_ = false, signalled_ = false, no_event_ = false, by_sockets_ = false;
};

Rest Course::poll() {
  if (own.allowed.load(std::memory_order_relaxed)) {
    if (idle_ > 1) pacing_.begin();
    idle_ = 0;
  } else if (++idle_ > tuning::kOverlapIdlePolls) {
    return {};
  }
  const Found found =
      idle_ == 0 ? poll_once(meter_, seen_, patience_, signalled_, no_event_) : Found::kNothing;
  const bool inside = found == Found::kProgramInside || found == Found::kProgramInsideAgain ||
                      found == Found::kProgramWasInside;
  // A program that left may stay outside or call again at once.
  const bool calls_on = found == Found::kProgramWasInside && left_;
  left_ = found == Found::kProgramWasInside && !left_;
  if (found == Found::kProgramInsideAgain || calls_on)
    pacing_.inside_again();
  else if (idle_ == 0 && !inside)
    pacing_.outside();
  const std::uint64_t cost = progress_thread::take_cost();
  own.taken_ns.fetch_add(cost, std::memory_order_relaxed);
  const std::uint64_t now = polled_ns_ = monotonic_nanoseconds();
  // Where no other rank reaches this one but over the network, its sockets signal all events.
  rest_ns_ = pacing_.polled(found == Found::kMoved, cost, now, event_driven());
  // A program inside the library reads its sockets itself. When it has left, others may want
  // something, and whether it stays outside shows soon.
  const std::uint64_t most = inside ? inside_pacing_.inside(left_, now) : inside_pacing_.outside();
  const bool exhausted = pacing_.exhausted();
  if (idle_ != 0 || inside || (exhausted && !event_driven())) {
    if (inside && own.patient.load(std::memory_order_relaxed) && !exhausted)
      rest_ns_ = most;
    else if (left_ && !exhausted)
      rest_ns_ = std::min(rest_ns_, most);
    signalled_ = no_event_ = false;
    const bool wakes = idle_ != 0 && rest_ns_ > tuning::kOverlapShortNs && !exhausted;
    return rest_for(rest_ns_, wakes ? ProgressTask::kLong : ProgressTask::kShort);
  }
  if (!exhausted) return listen();
  // What comes then is worth a poll, but not each piece of it.
  then_ = Then::kListen;
  return rest_for(std::min(rest_ns_, tuning::kOverlapExhaustedNs), ProgressTask::kShort);
}

/// Rests until a socket has news.
Rest Course::listen() {
  // No socket says when a batch is old.
  const bool batches = batched::any();
  if (batches) rest_ns_ = std::min(rest_ns_, tuning::kOverlapInsideNs);
  by_sockets_ = own.patient.load(std::memory_order_relaxed) && patience_.linger_ns == 0 && !batches;
  if (by_sockets_) rest_ns_ = tuning::kOverlapPatientNs;
  then_ = Then::kCollect;
  return rest_for(rest_ns_, by_sockets_ ? ProgressTask::kLong : ProgressTask::kShort, &sockets_);
}

/// That rest is over. Returns for how long to wait for more: what comes within this time is moved
/// by the same poll. Who wants something waits for it.
std::uint64_t Course::heard(int news) {
  patience_ = news >= 0 ? kWithSockets : kAlone;
  signalled_ = by_sockets_ && news > 0;
  no_event_ = context().alone_on_node && news == 0;
  const std::uint64_t passed = monotonic_nanoseconds() - polled_ns_;
  if (by_sockets_ || passed >= tuning::kOverlapCollectNs) return 0;
  return tuning::kOverlapCollectNs - passed;
}

Rest poll_task(int changed) {
  const NotAdvancing guard;
  if (own.course == nullptr) own.course = new Course;
  return own.course->next(changed);
}

/// In a child of fork(): there is no thread, and none is inside the library.
void in_child() {
  watched.starts = false;
  concerns.calls_announced.store(false, std::memory_order_relaxed);
  presence.forget_helper();
  postponed.unmade = postponed.pending = 0;
}

/// The process ends with the thread about: it must not be in a library that is being taken down.
/// Exit handlers and destructors that come later may still use MPI, and may wait for starts that
/// were left to the thread: that is made here, and nothing is left to it any more.
void at_exit() {
  if (!own.task.registered()) return;
  own.process_ends = true;
  own.task.leave();
  watched.starts = false;
  if (!inside()) enter();  // for good
  if (depth == 0 && postponed.pending.load(std::memory_order_relaxed) != 0) postponed.make(false);
}

/// A batch waits: if the task rests for long, it is roused, to look after it in time.
void batch_begins() {
  if (own.task.registered() && own.allowed.load(std::memory_order_relaxed))
    own.task.rouse(ProgressTask::kLong);
}

/// There is something to do. The task begins at the first call.
void rouse() {
  if (own.task.registered()) return own.task.rouse(ProgressTask::kLong);
  static const bool once = [] {
    ::pthread_atfork(nullptr, nullptr, in_child);
    return std::atexit(at_exit) == 0;
  }();
  static_cast<void>(once);
  if (own.process_ends) return;
  own.task.start();
  if (!own.task.registered()) watched.starts = false;
}

}  // namespace

void prepare(double wanted_share, void (*wanted_drive)(), bool (*wanted_polled)()) {
  own.share = wanted_share;
  own.drive = wanted_drive;
  own.polled = wanted_polled;
  batched::waiting.begins = batch_begins;
  presence.set_asymmetric(overlap::prepare_asymmetric());
}

void allow(bool on) {
  own.allowed.store(on, std::memory_order_seq_cst);
  if (on) rouse();
}

void hurry() {
  if (own.task.registered()) own.task.rouse(ProgressTask::kLonger);
}

void set_patient(bool on) { own.patient.store(on, std::memory_order_relaxed); }

void ask(MPI_Request request) { asked_for().push_back(request); }

void drop(MPI_Request request) { std::erase(asked_for(), request); }

void end() {
  own.allowed.store(false, std::memory_order_relaxed);  // for a session after the last one
  own.task.end();
  delete std::exchange(own.course, nullptr);
}

Work work() {
  return {.polls = own.polls.load(std::memory_order_relaxed),
          .useful = own.useful_polls.load(std::memory_order_relaxed),
          .taken_ns = own.taken_ns.load(std::memory_order_relaxed)};
}

}  // namespace hob::mpi::overlap_thread::worker
