#include "mpi/progress/overlap.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/lasting.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/overlap_worker.hpp"
#include "os/thread_state.hpp"
#include "overlap/judge.hpp"
#include "overlap/outstanding.hpp"

namespace hob::mpi::overlap_thread {
namespace {

/// A request that a running call may complete.
struct Row {
  int index;
  MPI_Request handle;
  std::uint64_t serial;  ///< another thread may get the handle before the end is reported
};

/// Of the program's threads, which are inside the library one at a time; with many threads, under
/// its mutex (Locked).
struct Program {
  std::mutex mutex;
  int reported_level = -1;  ///< what MPI_Query_thread returns; -1: as the library
  int provided = MPI_THREAD_SINGLE;
  std::string reason = "off";
  overlap::Outstanding outstanding;
  overlap::Outstanding persistent;  ///< large messages and collectives that may be started
  overlap::Outstanding windows;     ///< that other nodes may reach
  overlap::Judge judge{false, 1};
  bool always = false;        ///< every phase is helped
  bool only_watches = false;  ///< there is no thread, and never will be
  bool stays_out = false;     ///< for good: functions of the program's may run in whatever advances
  bool in_phase = false;
  int ended_in_phase = 0;     ///< operations that ended before there was time to compute
  bool all_complete = false;  ///< in the phase, as the thread has found
  // Of the phase that is under way: ticks.
  std::uint64_t phase_start = 0;
  std::uint64_t left = 0;  ///< for computing: the last start, or the end of the last wait
  bool left_a_wait = false;
  std::uint64_t outside = 0;
  std::uint64_t waited = 0;
  std::uint64_t long_start = 0;  ///< of the start that is reported next
  bool helps = false;
  std::uint64_t useful_before = 0;
  // While only watching, processor time of the process: when it left, and not used outside.
  std::uint64_t used_when_left = 0;
  std::uint64_t unused = 0;
  Stats alone;  ///< what is known of phases without help
};

Program& program() { return lasting<Program>(); }

/// Of a thread.
struct Rows {
  std::vector<Row> all;
  void thread_ended() { all.clear(); }
};

/// Of the calls of this thread that are running, innermost last.
std::vector<Row>& rows() { return os::PerThread<Rows>::here().all; }

/// Nothing while the program's threads are inside one at a time.
class Locked {
 public:
  Locked() : lock_(program().mutex, std::defer_lock) {
    if (many_threads) lock_.lock();
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

bool level_is_configured() {
  return std::getenv("OMPI_MPI_THREAD_LEVEL") || std::getenv("MPIR_CVAR_DEFAULT_THREAD_LEVEL");
}

bool wanted() {
  const settings::Settings& s = context().settings;
  if (s.off || s.overlap == "off" || s.overlap == "watch") return false;
  return s.overlap != "auto" || library::serialized_is_right();
}

bool watch_wanted() { return !context().settings.off && context().settings.overlap == "watch"; }

/// What there is to do for the thread has changed.
void notify_worker() {
  const Program& own = program();
  if (own.only_watches) {
    concerns.calls_announced.store(own.in_phase, std::memory_order_relaxed);
    return;
  }
  const bool exposed = !own.windows.empty();
  const bool under_way = own.in_phase && !own.all_complete;
  worker::set_patient(!under_way);
  concerns.calls_announced.store(exposed || own.in_phase, std::memory_order_relaxed);
  worker::allow((exposed || (under_way && own.helps)) && !own.stays_out &&
                !own.outstanding.forbidding());
}

void begin_phase() {
  Program& own = program();
  own.in_phase = true;
  own.all_complete = false;
  own.phase_start = ticks();
  own.helps = !own.only_watches && own.judge.begin(watched.attention.may_help());
  own.outside = own.waited = own.unused = 0;
  own.ended_in_phase = 0;
  own.useful_before = worker::work().useful;
  notify_worker();
}

/// In the thread, inside: all that the program has under way may be complete, though the program
/// does not know yet. Then there is nothing to do for it until it starts something again. Returns
/// whether any was found complete that was not before.
bool look_for_end() {
  Program& own = program();
  // With many threads, one that is not known of may be completing what is asked for.
  if (many_threads || !own.in_phase || own.all_complete) return false;
  bool any = false;
  own.all_complete = own.outstanding.all_complete([&](std::uintptr_t handle) {
    const bool complete = watched.is_complete(handle_of<MPI_Request>(handle));
    any |= complete;
    return complete;
  });
  if (own.all_complete) notify_worker();
  return any;
}

/// A phase that did not advance and that left time for it.
void note_alone(std::uint64_t outside_ns, std::uint64_t waited_ns) {
  Program& own = program();
  own.alone.alone += own.only_watches;  // else the judge counts it
  own.alone.alone_outside_ns += outside_ns;
  own.alone.alone_unused_ns += std::min(own.unused, outside_ns);
  own.alone.alone_waited_ns += waited_ns;
  own.alone.alone_within_ns += std::min(waited_ns, outside_ns);
}

void end_phase() {
  Program& own = program();
  own.in_phase = false;
  const std::uint64_t outside_ns = nanoseconds_in(own.outside),
                      waited_ns = nanoseconds_in(own.waited);
  if (!own.always) watched.attention.ended(outside_ns != 0);
  if (!own.helps && outside_ns != 0) note_alone(outside_ns, waited_ns);
  if (!own.only_watches) {
    own.judge.end({.outside_ns = outside_ns,
                   .waited_ns = waited_ns,
                   .moved = worker::work().useful != own.useful_before});
  }
  notify_worker();
}

/// After a wait: where something is under way all the time, as a receive for later is, or what
/// other threads have started, times of computing and waiting are judged even so.
void cut_long_phase() {
  const Program& own = program();
  if (!own.in_phase || own.outside == 0) return;
  if (nanoseconds_in(ticks() - own.phase_start) < tuning::kOverlapPhaseNs) return;
  end_phase();
  begin_phase();
}

/// The program starts or waits for something: it has been outside since it left.
void note_computing(std::uint64_t now) {
  Program& own = program();
  const std::uint64_t spent = now - own.left, spent_ns = nanoseconds_in(spent);
  if (!own.in_phase || spent_ns < tuning::kOverlapOutsideNs) return;
  own.outside += spent;
  if (!own.only_watches) return;
  const std::uint64_t used = process_nanoseconds() - own.used_when_left;
  own.unused += spent_ns - std::min(used, spent_ns);
}

void leave_for_computing(bool after_wait) {
  Program& own = program();
  own.left = ticks();
  own.left_a_wait = after_wait;
  if (own.only_watches) own.used_when_left = process_nanoseconds();
}

/// One more with this handle's hash, or one less.
void count_tracked(MPI_Request request, int more) {
  std::atomic<std::uint8_t>& counter = tracked_like(request);
  const std::uint8_t before = counter.load(std::memory_order_relaxed);
  if (before == UINT8_MAX) return;
  counter.store(static_cast<std::uint8_t>(before + more), std::memory_order_relaxed);
}

void track(MPI_Request request, bool forbids) {
  if (request == MPI_REQUEST_NULL) return;
  Program& own = program();
  if (!own.in_phase && !forbids && watched.attention.passes_over()) return;
  worker::drop(request);  // one with this handle whose end was not seen
  if (!own.outstanding.contains(handle_bits(request))) count_tracked(request, 1);
  own.outstanding.add(handle_bits(request), forbids);
  if (!own.in_phase) {
    begin_phase();
  } else {
    // Programs that start the next one before they wait for the last one. Between two starts there
    // is little else than the calls themselves, which may take milliseconds.
    if (own.left_a_wait) note_computing(ticks());
    const bool was_complete = std::exchange(own.all_complete, false);
    if (forbids || was_complete) notify_worker();
  }
  own.waited += std::exchange(own.long_start, 0);
  leave_for_computing(false);
}

/// One more has ended: where something is under way all the time, as a receive that is polled, and
/// some others have ended with no time to compute in between, nothing was there to help with. After
/// some such phases, a start that is looked at begins the next one.
void cut_useless_phase() {
  Program& own = program();
  if (own.always || own.outside != 0) return;
  if (++own.ended_in_phase < tuning::kOverlapEndedWithoutUse) return;
  end_phase();
  if (watched.attention.is_due()) begin_phase();
}

void untrack(MPI_Request request) {
  Program& own = program();
  const bool forbade = own.outstanding.forbidding();
  if (!own.outstanding.remove(handle_bits(request))) return;
  count_tracked(request, -1);
  worker::drop(request);
  if (forbade && !own.outstanding.forbidding()) notify_worker();
  if (!own.in_phase) return;
  if (own.outstanding.empty())
    end_phase();
  else
    cut_useless_phase();
}

/// The end of a running call's request.
void untrack(const Row& row) {
  if (program().outstanding.serial(handle_bits(row.handle)) == row.serial) untrack(row.handle);
}

/// From now on the thread does not enter the library any more.
void stay_out() {
  program().stays_out = true;
  notify_worker();
}

/// Gives the thread's slot back when it ends. If it ends inside, it stays inside.
struct SlotOwner {
  void thread_ended() {
    if (!own_state.slot || inside()) return;
    overlap::Presence::give_back(*own_state.slot);
    own_state.slot = nullptr;
  }
};

/// Of a datatype with which a call has succeeded: so many elements are worth looking after.
bool large(std::int64_t count, MPI_Datatype datatype) {
  KnownSize& known = own_state.known_size;
  if (datatype != known.datatype) {
    // In another thread it may have been freed, and be another one by now: a wrong size means no
    // more than help for a small message, or none for a large one.
    known.datatype = datatype;
    int bytes = 0;
    // MPI_UNDEFINED: more than an int can say.
    if (real::Type_size(datatype, &bytes) != MPI_SUCCESS || bytes < 0) bytes = INT_MAX;
    const std::int64_t most = KnownSize::kMost;
    known.large_count = static_cast<std::int32_t>(
        bytes == 0 ? most : std::min((watched.large_bytes + bytes - 1) / bytes, most));
  }
  return count >= known.large_count;
}

/// The same of a collective operation.
bool large(std::int64_t count, MPI_Datatype datatype, MPI_Comm comm) {
  if (count < 0) return true;
  int processes = 1;
  if (comm != MPI_COMM_NULL) real::Comm_size(comm, &processes);
  return large(count * processes, datatype);
}

bool of_program(MPI_Op op) { return !operation_number(op); }

/// Why there is no overlap, or "".
std::string obstacle() {
  if (!wanted() || program().provided >= MPI_THREAD_SERIALIZED) return "";
  if (!context().world) return "off: the session did not ask for MPI_THREAD_SERIALIZED";
  return "off: the MPI library does not give MPI_THREAD_SERIALIZED";
}

}  // namespace

int level_to_ask_for(int required) {
  if (!wanted() || level_is_configured()) return required;
  return std::max(required, static_cast<int>(MPI_THREAD_SERIALIZED));
}

void asked(int required, int provided) {
  program().provided = provided;
  // Where nothing more was asked for, the library's own answer stands.
  if (level_to_ask_for(required) != required && provided > required)
    program().reported_level = required;
}

int level_to_report(int level) {
  const int reported = program().reported_level;
  return reported >= 0 ? std::min(reported, level) : level;
}

void start(void (*drive)(), bool (*complete)(MPI_Request), void (*make)(bool by_thread)) {
  if (!wanted() && !watch_wanted()) return;
  Program& own = program();
  own.always = context().settings.overlap == "on";
  watched.large_bytes =
      own.always || context().one_node ? tuning::kOverlapBytes : tuning::kOverlapFarBytes;
  own.reason = obstacle();
  if (!own.reason.empty()) {
    // Where the user did not ask for it, the report's file says it, and no more.
    if (context().settings.overlap != "auto") note("Overlap is " + own.reason + ".");
    return;
  }
  // Where ranks wait for processors, what the thread takes is another rank's.
  if (wanted() && !own.always && context().crowded) {
    own.reason = "off: the node has more ranks than processors";
    return;
  }
  if (!wanted()) {
    own.only_watches = true;
    own.reason = "off: waits are measured";
    presence.set_asymmetric(true);  // there is no other side
    watched.starts = true;
    return;
  }
  watched.is_complete = complete;
  postponed.make = make;
  worker::prepare(own.always ? 1 : tuning::kOverlapShare, drive, look_for_end);
  own.judge = overlap::Judge(own.always, 1);
  watched.starts = true;
}

void finish() {
  watched.starts = false;
  worker::end();
  make_pending();
  concerns.calls_announced.store(false, std::memory_order_relaxed);
  Program& own = program();
  for (auto& counter : watched.hashes) counter.store(0, std::memory_order_relaxed);
  own.outstanding = {};
  own.persistent = {};
  watched.has_persistent.store(false, std::memory_order_relaxed);
  own.windows = {};
  own.in_phase = false;
}

Stats stats() {
  const Locked locked;
  Program& own = program();
  const worker::Work work = worker::work();
  Stats all = own.alone;
  all.polls = work.polls;
  all.useful = work.useful;
  all.taken_ns = work.taken_ns;
  all.started = postponed.made_by_thread.load(std::memory_order_relaxed);
  all.waited_ns = presence.waited_ns();
  all.saved = own.judge.saved();
  all.helped = own.judge.helped();
  all.alone += own.judge.alone();
  return all;
}

const std::string& reason() { return program().reason; }

bool takes_starts() {
  Program& own = program();
  if (own.only_watches || own.stays_out || own.outstanding.forbidding()) return false;
  if (!own.in_phase && !watched.attention.is_due()) return false;
  if (!own.in_phase) begin_phase();
  return own.helps && watched.starts;  // not without a thread, after all
}

void hurry() { worker::hurry(); }

void note_long_start(std::uint64_t ticks) {
  if (!program().only_watches) program().long_start = ticks;
}

void take_slot() {
  static_cast<void>(os::PerThread<SlotOwner>::here());
  own_state.slot = presence.take_slot();
}

void started_large_message(MPI_Request request, std::int64_t count, MPI_Datatype datatype) {
  if (!large(count, datatype)) return;
  const Locked locked;
  track(request, false);
}

void forget_size(MPI_Datatype datatype) {
  if (own_state.known_size.datatype == datatype) own_state.known_size = {};
}

void started_collective(MPI_Request request, std::int64_t count, MPI_Datatype datatype,
                        MPI_Comm comm) {
  if (!large(count, datatype, comm)) return;
  const Locked locked;
  track(request, false);
}

void started_reduction(MPI_Request request, MPI_Op op, std::int64_t count, MPI_Datatype datatype,
                       MPI_Comm comm) {
  const bool forbids = of_program(op);
  if (!forbids && !large(count, datatype, comm)) return;
  const Locked locked;
  track(request, forbids);
}

void started_file(MPI_Request request, std::int64_t count, MPI_Datatype datatype) {
  if (!large(count, datatype)) return;
  const Locked locked;
  track(request, false);
}

void started_collective_file(MPI_Request request) {
  const Locked locked;
  track(request, false);
  // Not those of one process: ROMIO completes each of them as often as it is asked for after its
  // end, so that MPI_Test after MPI_Request_get_status frees it twice. They need no poll.
  if (request != MPI_REQUEST_NULL && !program().only_watches) worker::ask(request);
}

void started_task() {
  const Locked locked;
  stay_out();
}

void made(MPI_Request request, bool forbids) {
  const Locked locked;
  program().persistent.add(handle_bits(request), forbids);
  watched.has_persistent.store(true, std::memory_order_relaxed);
}

void made_message(MPI_Request request, std::int64_t count, MPI_Datatype datatype) {
  if (request != MPI_REQUEST_NULL && large(count, datatype)) made(request, false);
}

void made_collective(MPI_Request request, std::int64_t count, MPI_Datatype datatype,
                     MPI_Comm comm) {
  if (request != MPI_REQUEST_NULL && large(count, datatype, comm)) made(request, false);
}

void made_reduction(MPI_Request request, MPI_Op op, std::int64_t count, MPI_Datatype datatype,
                    MPI_Comm comm) {
  const bool forbids = of_program(op);
  if (request != MPI_REQUEST_NULL && (forbids || large(count, datatype, comm)))
    made(request, forbids);
}

void freed_request(MPI_Request request) {
  const Locked locked;
  Program& own = program();
  untrack(request);
  own.persistent.remove(handle_bits(request));
  watched.has_persistent.store(!own.persistent.empty(), std::memory_order_relaxed);
}

void started_persistent(int count, const MPI_Request* requests) {
  const Locked locked;
  Program& own = program();
  if (own.persistent.empty() || !requests) return;
  for (int i = 0; i < count; ++i)
    if (own.persistent.contains(handle_bits(requests[i])))
      track(requests[i], own.persistent.forbids(handle_bits(requests[i])));
}

void freed_object(FreedKind kind) {
  if ((delete_callbacks.load(std::memory_order_relaxed) & kind) == 0) return;
  const Locked locked;
  if (!program().stays_out) stay_out();
}

void exposed_window(MPI_Win win) {
  const Locked locked;
  const bool serves = context().settings.overlap == "windows" || program().always;
  if (!serves || context().one_node || context().settings.ghosts != 0) return;
  program().windows.add(handle_bits(win));
  notify_worker();
}

void freed_window(MPI_Win win) {
  {
    const Locked locked;
    if (program().windows.remove(handle_bits(win))) notify_worker();
  }
  freed_object(kWindows);
}

void Completing::find_tracked(int count, bool waits) {
  std::vector<Row>& tracked_now = rows();
  first_ = tracked_now.size();
  const Locked locked;
  Program& own = program();
  for (int i = 0; i < count; ++i)
    if (const std::uint64_t serial = own.outstanding.serial(handle_bits(requests_[i])))
      tracked_now.push_back({i, requests_[i], serial});
  any_ = tracked_now.size() != first_;
  if (!waits || !any_) return;
  began_ = ticks();
  note_computing(began_);
}

void Completing::forget() {
  std::vector<Row>& mine = rows();
  if (!ended_)
    end([&] {
      for (std::size_t i = first_; i < mine.size(); ++i)
        if (requests_[mine[i].index] != mine[i].handle) untrack(mine[i]);
    });
  mine.resize(first_);
}

template <class Remove>
void Completing::end(Remove remove) {
  ended_ = true;
  const Locked locked;
  if (began_ != 0) program().waited += ticks() - began_;
  remove();
  if (began_ == 0) return;
  cut_long_phase();
  leave_for_computing(true);
}

void Completing::remove(int index) {
  const std::vector<Row>& mine = rows();
  for (std::size_t i = first_; i < mine.size(); ++i) {
    if (mine[i].index != index) continue;
    untrack(mine[i]);
    return;
  }
}

void Completing::end_all() {
  end([&] {
    const std::vector<Row>& mine = rows();
    for (std::size_t i = first_; i < mine.size(); ++i) untrack(mine[i]);
  });
}

void Completing::end_one(int index) {
  end([&] {
    if (index >= 0) remove(index);
  });
}

void Completing::end_some(int count, const int* indices) {
  end([&] {
    for (int i = 0; i < count; ++i) remove(indices[i]);
  });
}

}  // namespace hob::mpi::overlap_thread
