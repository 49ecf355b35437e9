#include "mpi/progress/overlap.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <vector>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/overlap_worker.hpp"
#include "overlap/judge.hpp"
#include "overlap/outstanding.hpp"

namespace hob::mpi::overlap_thread {
namespace {

/// A request that a running call may complete.
struct Row {
  int index;
  MPI_Request handle;
};

/// Of the program's threads, which are inside the library one at a time.
struct Program {
  int told_level = -1;  ///< what MPI_Query_thread tells; -1: what the library says
  int provided = MPI_THREAD_SINGLE;
  std::string reason = "off";
  overlap::Outstanding outstanding;
  overlap::Outstanding persistent;  ///< large messages and collectives that may be started
  overlap::Outstanding windows;     ///< that other nodes may reach
  std::vector<Row> rows;            ///< of the calls that are running, innermost last
  overlap::Judge judge{false, 1};
  bool only_watches = false;  ///< there is no thread, and never will be
  bool freed = false;  ///< an object whose kind has delete callbacks: its last use may be to come
  bool in_phase = false;
  // Of the phase that is under way: ticks.
  std::uint64_t last_start = 0;
  std::uint64_t outside = 0;
  std::uint64_t waited = 0;
  bool helps = false;
  // While only watching, processor time of the process: at the last start, and not used outside.
  std::uint64_t used_at_start = 0;
  std::uint64_t unused = 0;
  Stats alone;  ///< what is known of phases without help
};

Program& program() {
  static auto* const own = new Program;  // never destroyed: MPI may end in a destructor
  return *own;
}

bool level_is_configured() {
  return std::getenv("OMPI_MPI_THREAD_LEVEL") || std::getenv("MPIR_CVAR_DEFAULT_THREAD_LEVEL");
}

bool wanted() { return !context().settings.off && context().settings.overlap != "off"; }

bool watch_wanted() { return !context().settings.off && context().settings.overlap_watch; }

/// What there is to do for the thread has changed.
void tell_worker() {
  const Program& own = program();
  if (own.only_watches) {
    calls_announced.store(own.in_phase, std::memory_order_relaxed);
    return;
  }
  const bool exposed = !own.windows.empty();
  worker::allow((exposed || (own.in_phase && own.helps)) && !own.freed &&
                !own.outstanding.forbidding());
  worker::set_patient(!own.in_phase);
  calls_announced.store(exposed || own.in_phase, std::memory_order_seq_cst);
  if (exposed || own.in_phase) worker::rouse();
}

void begin_phase() {
  Program& own = program();
  own.in_phase = true;
  own.helps = !own.only_watches && own.judge.begin();
  own.outside = own.waited = own.unused = 0;
  tell_worker();
}

/// A phase that nobody advanced and that left time for it.
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
  if (!own.helps && outside_ns != 0) note_alone(outside_ns, waited_ns);
  if (!own.only_watches) own.judge.end(outside_ns, waited_ns);
  tell_worker();
}

void track(MPI_Request request, bool forbids) {
  if (request == MPI_REQUEST_NULL) return;
  Program& own = program();
  own.outstanding.add(handle_bits(request), forbids);
  own.last_start = ticks();
  if (own.only_watches) own.used_at_start = process_nanoseconds();
  if (!own.in_phase)
    begin_phase();
  else if (forbids)
    tell_worker();
}

void untrack(MPI_Request request) {
  Program& own = program();
  const bool forbade = own.outstanding.forbidding();
  if (!own.outstanding.remove(handle_bits(request))) return;
  if (own.outstanding.empty())
    end_phase();
  else if (forbade && !own.outstanding.forbidding())
    tell_worker();
}

/// The program has been outside for so many ticks since its last start.
void leave_computing(std::uint64_t spent_ticks) {
  Program& own = program();
  own.outside = spent_ticks;
  if (!own.only_watches) return;
  const std::uint64_t used = process_nanoseconds() - own.used_at_start;
  own.unused = nanoseconds_in(spent_ticks) - std::min(used, nanoseconds_in(spent_ticks));
}

bool large(std::int64_t count, MPI_Datatype datatype) {
  static MPI_Datatype last = MPI_DATATYPE_NULL;
  static int last_size = 0;
  if (datatype != last) {
    // A type whose handle is that of one that was freed: a wrong size means no more than help for
    // a small message, or none for a large one.
    last = datatype;
    // MPI_UNDEFINED: more than an int can say.
    if (real::Type_size(datatype, &last_size) != MPI_SUCCESS || last_size < 0) last_size = INT_MAX;
  }
  return count * last_size >= tuning::kOverlapBytes;
}

bool of_program(MPI_Op op) { return !operation_number(op); }

/// Why there is no overlap, or "".
std::string obstacle(bool world) {
  if (!world) return "off: a program of sessions has no communicator of Hob's to look at";
  if (many_threads) return "off: with MPI_THREAD_MULTIPLE the library serves all threads itself";
  if (!wanted()) return "";
  if (program().provided < MPI_THREAD_SERIALIZED)
    return "off: the MPI library does not give MPI_THREAD_SERIALIZED";
  return "";
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
    program().told_level = required;
}

int level_to_tell(int level) {
  const int told = program().told_level;
  return told >= 0 ? std::min(told, level) : level;
}

void start(bool world) {
  if (!wanted() && !watch_wanted()) return;
  Program& own = program();
  own.reason = obstacle(world);
  if (!own.reason.empty()) return note("Overlap is " + own.reason + ".");
  if (!wanted()) {
    own.only_watches = true;
    own.reason = "off: waits are measured";
    presence.set_asymmetric(true);  // there is no other side
    starts_tracked = true;
    return;
  }
  worker::prepare(context().settings.progress_share);
  own.judge = overlap::Judge(context().settings.overlap == "on", 1);
  starts_tracked = true;
}

void finish() {
  starts_tracked = false;
  worker::end();
  calls_announced.store(false, std::memory_order_relaxed);
  Program& own = program();
  own.outstanding = {};
  own.persistent = {};
  own.windows = {};
  own.in_phase = false;
}

Stats stats() {
  Program& own = program();
  const worker::Work work = worker::work();
  Stats all = own.alone;
  all.polls = work.polls;
  all.useful = work.useful;
  all.taken_ns = work.taken_ns;
  all.waited_ns = presence.waited_ns();
  all.saved_ns = own.judge.saved_ns();
  all.helped = own.judge.helped();
  all.alone += own.judge.alone();
  return all;
}

const std::string& reason() { return program().reason; }

void started_message(MPI_Request request, std::int64_t count, MPI_Datatype datatype) {
  if (large(count, datatype)) track(request, false);
}

void started_collective(MPI_Request request) { track(request, false); }

void started_reduction(MPI_Request request, MPI_Op op) { track(request, of_program(op)); }

void made_message(MPI_Request request, std::int64_t count, MPI_Datatype datatype) {
  if (request != MPI_REQUEST_NULL && large(count, datatype))
    program().persistent.add(handle_bits(request));
}

void made_collective(MPI_Request request) {
  if (request != MPI_REQUEST_NULL) program().persistent.add(handle_bits(request));
}

void made_reduction(MPI_Request request, MPI_Op op) {
  if (request == MPI_REQUEST_NULL) return;
  program().persistent.add(handle_bits(request), of_program(op));
}

void freed_request(MPI_Request request) {
  Program& own = program();
  untrack(request);
  own.persistent.remove(handle_bits(request));
}

void started_persistent(int count, const MPI_Request* requests) {
  Program& own = program();
  if (own.persistent.empty() || !requests) return;
  for (int i = 0; i < count; ++i)
    if (own.persistent.contains(handle_bits(requests[i])))
      track(requests[i], own.persistent.forbids(handle_bits(requests[i])));
}

void freed_object(FreedKind kind) {
  Program& own = program();
  if ((delete_callbacks.load(std::memory_order_relaxed) & kind) == 0 || own.freed) return;
  own.freed = true;
  tell_worker();
}

void exposed_window(MPI_Win win) {
  if (context().one_node || context().settings.ghosts != 0 || program().only_watches) return;
  program().windows.add(handle_bits(win));
  tell_worker();
}

void freed_window(MPI_Win win) {
  if (program().windows.remove(handle_bits(win))) tell_worker();
  freed_object(kWindows);
}

Completing::Completing(int count, const MPI_Request* requests, bool waits)
    : requests_(requests), count_(requests ? count : 0), first_(program().rows.size()) {
  Program& own = program();
  for (int i = 0; i < count_; ++i)
    if (own.outstanding.contains(handle_bits(requests[i]))) own.rows.push_back({i, requests[i]});
  if (!waits || own.rows.size() == first_) return;
  began_ = ticks();
  // The first wait of a phase ends what the program had left for computing.
  if (own.outside == 0 && nanoseconds_in(began_ - own.last_start) >= tuning::kOverlapOutsideNs)
    leave_computing(began_ - own.last_start);
}

Completing::~Completing() {
  Program& own = program();
  if (!told_) {
    end_wait();
    for (std::size_t i = first_; i < own.rows.size(); ++i)
      if (requests_[own.rows[i].index] != own.rows[i].handle) untrack(own.rows[i].handle);
  }
  own.rows.resize(first_);
}

void Completing::end_wait() {
  told_ = true;
  if (began_ != 0) program().waited += ticks() - began_;
}

void Completing::remove(int index) {
  const Program& own = program();
  for (std::size_t i = first_; i < own.rows.size(); ++i) {
    if (own.rows[i].index != index) continue;
    untrack(own.rows[i].handle);
    return;
  }
}

void Completing::all() {
  end_wait();
  const Program& own = program();
  for (std::size_t i = first_; i < own.rows.size(); ++i) untrack(own.rows[i].handle);
}

void Completing::one(int index) {
  end_wait();
  if (index >= 0) remove(index);
}

void Completing::some(int count, const int* indices) {
  end_wait();
  for (int i = 0; i < count; ++i) remove(indices[i]);
}

}  // namespace hob::mpi::overlap_thread
