#include "mpi/requests/postponed_start.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/lasting.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/errors_returned.hpp"
#include "mpi/core/state.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/requests/request.hpp"
#include "os/scheduling.hpp"

namespace hob::mpi::requests {
namespace {

class PostponedStart;

/// A start that has failed, where its call would have returned the error.
struct Failure {
  MPI_Comm comm;
  int error;
};

/// The highest tag that messages may have. Open MPI gives it for MPI_COMM_WORLD alone.
int highest_tag() {
  void* highest = nullptr;
  int known = 0;
  if (context().world) real::Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &known);
  return known ? *static_cast<int*>(highest) : 0;
}

/// Inside `presence`. Not used with many threads.
struct Postponed {
  bool off = context().settings.overlap_starts == "off";
  overlap::StartHistory history{tuning::kOverlapLongStartNs,
                                context().settings.overlap_starts == "always"};
  std::deque<PostponedStart*> unmade;
  std::vector<Failure> unreported;  ///< of which the program's error handlers are to hear
  int most_tag = highest_tag();
};

Postponed& all() { return lasting<Postponed>(); }

/// What is behind the request that the program has. No call of the program's sees it before it is
/// made.
class PostponedStart final : public Operation {
 public:
  using End = overlap::StartHistory::End;

  PostponedStart(const overlap::Start& what, MPI_Comm comm, StartCall call)
      : what_(what), comm_(comm), call_(std::move(call)), program_(os::thread_number()) {}

  /// In the thread, `beside` the program, or in the program.
  void make(bool by_thread) {
    const std::uint64_t began = ticks();
    if (by_thread) {
      postponed.made_by_thread.fetch_add(1, std::memory_order_relaxed);
      by_thread_.program_waited = os::waited_for_core(program_);
      by_thread_.thread_waited = os::waited_for_core(os::thread_number());
      by_thread_.used = thread_nanoseconds();
    } else {
      all().history.ended(what_, End::came);
    }
    {
      // Not of an argument, which a call like it has had: the end of a peer, say.
      const ErrorsReturned quietly(comm_, MPI_WIN_NULL);
      error_ = call_(&native_);
    }
    made_ = true;
    if (by_thread) {
      made_by_thread_ = true;
      by_thread_.used = thread_nanoseconds() - by_thread_.used;
      by_thread_.thread_waited =
          os::waited_for_core(os::thread_number()) - by_thread_.thread_waited;
    }
    if (error_ != MPI_SUCCESS) {
      all().unreported.push_back({comm_, error_});
      return;
    }
    all().history.took(what_, nanoseconds_in(ticks() - began));
    rest.store(native_, std::memory_order_release);
  }

  bool ready() override {
    if (!made_) return false;
    if (native_ == MPI_REQUEST_NULL) return true;
    int flag = 0;
    status_.MPI_ERROR = MPI_SUCCESS;
    error_ = real::Test(&native_, &flag, &status_);
    if (!flag && error_ == MPI_SUCCESS) return false;
    rest.store(MPI_REQUEST_NULL, std::memory_order_relaxed);
    native_ = MPI_REQUEST_NULL;
    return true;
  }

  int result(MPI_Status* to) override {
    copy_status(status_, to);
    return error_;
  }

  void retire() override {
    note_end();
    delete this;
  }

  void abandon() override {
    if (native_ != MPI_REQUEST_NULL) real::Request_free(&native_);
    delete this;
  }

  void cancel() override {
    if (native_ != MPI_REQUEST_NULL) real::Cancel(&native_);
  }

  std::uint64_t since() const { return since_; }

 private:
  /// Whether the thread had a core to make it. While it made it, and until the program came, one of
  /// both waited for the other's otherwise.
  void note_end() const {
    if (!made_by_thread_) return;
    // One that sleeps or waits elsewhere needs no core: that is known sooner than what the system
    // says.
    const bool computes = 2 * (thread_nanoseconds() - used_) > nanoseconds_in(ticks() - since_);
    const std::uint64_t waited = computes ? os::waited_for_core(program_) : 0;
    const bool in_turns = std::max(waited, by_thread_.program_waited) - by_thread_.program_waited +
                              by_thread_.thread_waited >
                          by_thread_.used / 2;
    all().history.ended(what_, in_turns ? End::in_turns : End::by_thread);
  }

  overlap::Start what_;
  MPI_Comm comm_;
  StartCall call_;
  int program_;                                // its thread
  std::uint64_t since_ = ticks();              // it was left to the thread
  std::uint64_t used_ = thread_nanoseconds();  // at that time, of the program's thread
  bool made_ = false;
  bool made_by_thread_ = false;
  int error_ = MPI_SUCCESS;
  MPI_Request native_ = MPI_REQUEST_NULL;
  MPI_Status status_ = empty_status();
  /// ns, while the thread made it; but for the program's, which is that before.
  struct {
    std::uint64_t program_waited = 0;  ///< for a core
    std::uint64_t thread_waited = 0;
    std::uint64_t used = 0;  ///< processor time of the thread
  } by_thread_;
};

void count_pending() {
  const Postponed& own = all();
  postponed.pending.store(static_cast<int>(own.unmade.size() + own.unreported.size()),
                          std::memory_order_relaxed);
  // The thread, going to sleep, looks at it after it has said so.
  postponed.unmade.store(static_cast<int>(own.unmade.size()), std::memory_order_seq_cst);
}

}  // namespace

bool leaves_to_thread(const overlap::Start& start, int tag) {
  if (many_threads) return false;
  const DepthGuard guard;
  Postponed& own = all();
  if (tag < 0 || tag > own.most_tag) return false;
  // Parts of Hob that are on have more to do in the call than to make it; and runtimes of
  // accelerators keep for each thread which of them it uses.
  if (own.off || !tracking_off() || accelerator_loaded.load(std::memory_order_relaxed) ||
      !own.history.worth_postponing(start))
    return false;
  if (!own.unmade.empty() &&
      nanoseconds_in(ticks() - own.unmade.front()->since()) > 2 * tuning::kOverlapStartNs)
    return false;
  return overlap_thread::takes_starts();
}

MPI_Request postpone(const overlap::Start& start, MPI_Comm comm, StartCall call) {
  const DepthGuard guard;
  auto operation = std::make_unique<PostponedStart>(start, comm, std::move(call));
  std::deque<PostponedStart*>& unmade = all().unmade;
  unmade.push_back(operation.get());
  MPI_Request request = MPI_REQUEST_NULL;
  try {
    request = add(*operation);
  } catch (const std::bad_alloc&) {
    unmade.pop_back();
    throw;
  }
  static_cast<void>(operation.release());  // it deletes itself
  count_pending();
  overlap_thread::hurry();
  return request;
}

void note_start(const overlap::Start& start, std::uint64_t ticks) {
  if (many_threads) return;
  const DepthGuard guard;
  postponed.has_history = true;
  if (all().history.took(start, nanoseconds_in(ticks))) overlap_thread::note_long_start(ticks);
}

void forget_starts_on(MPI_Comm comm) {
  if (postponed.has_history) all().history.forget_comm(handle_bits(comm));
}

void forget_starts_of(MPI_Datatype datatype) {
  if (postponed.has_history) all().history.forget_datatype(handle_bits(datatype));
}

void forget_starts() {
  if (postponed.has_history) all().history.forget_all();
}

void make_postponed(bool by_thread) {
  const DepthGuard guard;
  Postponed& own = all();
  while (!own.unmade.empty() && !(by_thread && presence.inside())) {
    PostponedStart& first = *own.unmade.front();
    own.unmade.pop_front();
    first.make(by_thread);
  }
  std::vector<Failure> unreported;
  if (!by_thread) unreported.swap(own.unreported);
  count_pending();
  for (const Failure& failure : unreported) real::Comm_call_errhandler(failure.comm, failure.error);
}

}  // namespace hob::mpi::requests
