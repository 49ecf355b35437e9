// Start and end of MPI.
#include "mpi/pmpi/hooks.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

#include "mpi/core/context.hpp"
#include "mpi/core/program_world.hpp"
#include "mpi/ghost/attributes.hpp"
#include "mpi/ghost/departure.hpp"
#include "mpi/ghost/variables.hpp"
#include "mpi/lifecycle/lifecycle.hpp"
#include "mpi/lifecycle/parts.hpp"
#include "mpi/lifecycle/presence.hpp"
#include "mpi/p2p/p2p.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/overlap.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/report/interim.hpp"
#include "mpi/report/report.hpp"
#include "mpi/workarounds/ucx_closing.hpp"
#include "overlap/presence.hpp"

namespace hob::mpi {
namespace {

/// How far the program is with MPI, and what Hob has begun in its place. Of the process; global,
/// since a handler of the exit ends it.
struct Lifetime {
  /// Sessions open, and one more while MPI_Init is in effect.
  std::atomic<int> openings{0};

  /// Held while Hob starts: a session may begin in one thread while another one is in MPI_Init.
  std::mutex starting;

  /// Calls of MPI_Init under way: the library is initialised before Hob is ready, and another
  /// thread may ask meanwhile (MPI_Initialized). Who has read 0 sees all that start() wrote.
  std::atomic<int> beginning{0};

  /// The program has made its own MPI_Init and MPI_Finalize, where Hob begins and ends the world
  /// itself.
  std::atomic<bool> program_began{false};
  std::atomic<bool> program_ended{false};

  /// Hob ends within the library's MPI_Finalize (on_Finalize).
  bool finishes_with_self = false;

  /// MPI_Init is Hob's: ghosts are divided from the others in a world, and a program of sessions
  /// has none.
  struct {
    bool exists = false;
    bool leaves = false;  ///< with the program's last session, which a handler of its may close
    bool ended = false;
    pid_t process = 0;  ///< not its children, which inherit the handler of the exit
  } own_world;
};
/// Of this process.
constinit Lifetime lifetime;

int thread_level() {
  int level = MPI_THREAD_SINGLE;
  real::Query_thread(&level);
  return level;
}

/// What the session says that it has; MPI_THREAD_SINGLE if it does not say.
int thread_level(MPI_Session session) {
  MPI_Info info = MPI_INFO_NULL;
  if (real::Session_get_info(session, &info) != MPI_SUCCESS) return MPI_THREAD_SINGLE;
  char level[64] = {};
  int flag = 0;
  real::Info_get(info, "thread_level", static_cast<int>(sizeof level) - 1, level, &flag);
  real::Info_free(&info);
  if (flag && std::strcmp(level, "MPI_THREAD_MULTIPLE") == 0) return MPI_THREAD_MULTIPLE;
  if (flag && std::strcmp(level, "MPI_THREAD_SERIALIZED") == 0) return MPI_THREAD_SERIALIZED;
  return MPI_THREAD_SINGLE;
}

void announce() {
  const settings::Settings& s = context().settings;
  if (!s.off) announce_presence();
  if (!s.off && s.ghosts > 0) end_ghosts_early();
}

/// Asks for the helper's fence while the process has one thread. Once the library has made others,
/// the system waits for all processors first: 4 to 12 ms.
void prepare_fence() {
  if (!context().settings.off) overlap::prepare_asymmetric();
}

/// Before the first of them, so that errors in the settings show before the job starts.
void init_once() {
  static const bool once = (register_parts(), read_settings(), check_family(), prepare_fence(),
                            p2p::prepare(), announce(), true);
  (void)once;
}

/// The program ends.
void end_own_world() {
  if (::getpid() != lifetime.own_world.process) return;
  lifetime.own_world.leaves = true;
  if (lifetime.openings != 0 || std::exchange(lifetime.own_world.ended, true)) return;
  const DepthGuard guard;
  finish();
  const ucx::Finalizing closing;
  real::Finalize();
}

void begin_own_world() {
  int initialised = 0;
  real::Initialized(&initialised);
  int provided = MPI_THREAD_SINGLE;
  if (initialised || real::Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided)) return;
  lifetime.own_world.exists = true;
  lifetime.own_world.process = ::getpid();
  start(provided, true, provided == MPI_THREAD_MULTIPLE);
  std::atexit(end_own_world);  // not in ghosts, which do not come back
}

int copy_nothing(MPI_Comm, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

int end_with_self(MPI_Comm, int, void*, void*) {
  if (lifetime.openings == 0) finish();
  return MPI_SUCCESS;
}

/// Calls pass Hob by.
int write_time_with_self(MPI_Comm, int, void*, void*) {
  write_time_alone();
  return MPI_SUCCESS;
}

/// After the library's MPI_Init, before the program can set attributes of its own.
bool set_first_attribute_of_self(MPI_Comm_delete_attr_function* at_end) {
  int key = MPI_KEYVAL_INVALID;
  if (real::Comm_create_keyval(copy_nothing, at_end, &key, nullptr) != MPI_SUCCESS) return false;
  const bool set = real::Comm_set_attr(MPI_COMM_SELF, key, nullptr) == MPI_SUCCESS;
  real::Comm_free_keyval(&key);
  return set;
}

void start_with_world(int level) {
  start(level, true, level == MPI_THREAD_MULTIPLE);
  // Ghosts end before: MPICH waits for all processes, them included, ahead of deleting attributes.
  lifetime.finishes_with_self = !context().settings.off && !program_world.is_smaller &&
                                !(library::kTraits.locks_attributes && many_threads) &&
                                set_first_attribute_of_self(end_with_self);
  const Context& process = context();
  if (process.settings.off && !process.settings.json.empty() && process.rank == 0)
    set_first_attribute_of_self(write_time_with_self);
}

/// For the program's MPI_Init.
bool begun(int* provided) {
  if (!lifetime.own_world.exists) return false;
  if (provided) *provided = thread_level();
  ++lifetime.openings;
  lifetime.program_began = true;
  return true;
}

/// After the library's own, with what it returned.
int begin_world(int result, int level) {
  if (result != MPI_SUCCESS) return result;
  const std::lock_guard guard(lifetime.starting);
  if (lifetime.openings++ == 0) start_with_world(level);
  return result;
}

/// Around a whole MPI_Init.
struct Beginning {
  Beginning() { lifetime.beginning.fetch_add(1); }
  ~Beginning() { lifetime.beginning.fetch_sub(1); }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;
};

}  // namespace

int on_Init(int* argc, char*** argv) {
  const Beginning beginning_now;
  init_once();
  if (begun(nullptr)) return MPI_SUCCESS;
  constexpr int kRequired = MPI_THREAD_SINGLE;
  const int level = overlap_thread::level_to_ask_for(kRequired);
  int provided = kRequired;
  const int result =
      level == kRequired ? real::Init(argc, argv) : real::Init_thread(argc, argv, level, &provided);
  context().threads_may_store = false;
  if (result != MPI_SUCCESS) return begin_world(result, 0);
  const int got = thread_level();
  overlap_thread::asked(kRequired, std::max(provided, got));
  return begin_world(result, got);
}

int on_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const Beginning beginning_now;
  init_once();
  if (begun(provided)) return MPI_SUCCESS;
  const int level = overlap_thread::level_to_ask_for(required);
  const int result = real::Init_thread(argc, argv, level, provided);
  context().threads_may_store = required != MPI_THREAD_SINGLE;
  if (result != MPI_SUCCESS) return begin_world(result, 0);
  overlap_thread::asked(required, *provided);
  const int got = *provided;
  *provided = overlap_thread::level_to_report(got);
  return begin_world(result, got);
}

int on_Query_thread(int* provided) {
  const int result = real::Query_thread(provided);
  if (result == MPI_SUCCESS) *provided = overlap_thread::level_to_report(*provided);
  return result;
}

int on_Finalize() {
  if (lifetime.own_world.exists) {
    --lifetime.openings;
    lifetime.program_ended = true;
    return MPI_SUCCESS;
  }
  overlap_thread::finish();
  // The first thing that MPI_Finalize does is to delete the attributes of MPI_COMM_SELF, those that
  // were set last first. Their callbacks are the program's, and may communicate: Hob ends in the
  // last. With ghosts, it deletes them itself.
  if (program_world.is_smaller) delete_attributes_of_self();
  if (--lifetime.openings == 0 && !lifetime.finishes_with_self) finish();
  if (lifetime.finishes_with_self) {
    end_library_callbacks();
    repost_all_natively();  // no thread would match them while the library waits for others
  }
  const ucx::Finalizing closing;
  return real::Finalize();
}

int on_Initialized(int* flag) {
  const int result = real::Initialized(flag);
  if (result != MPI_SUCCESS || !*flag) return result;
  *flag =
      lifetime.own_world.exists ? lifetime.program_began.load() : lifetime.beginning.load() == 0;
  return result;
}

int on_Finalized(int* flag) {
  const int result = real::Finalized(flag);
  if (result == MPI_SUCCESS && lifetime.own_world.exists) *flag = lifetime.program_ended.load();
  return result;
}

int on_Abort(MPI_Comm comm, int errorcode) {
  write_last_report();
  return real::Abort(comm, errorcode);
}

int on_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  init_once();
  const settings::Settings& s = context().settings;
  if (lifetime.openings == 0 && !lifetime.own_world.exists && s.ghosts > 0 && !s.off)
    begin_own_world();
  if (lifetime.openings == 0) restore_variables();  // the library may ask the launcher anew
  const int result = real::Session_init(info, errhandler, session);
  context().threads_may_store = true;
  if (result != MPI_SUCCESS) return result;
  const std::lock_guard guard(lifetime.starting);
  const int level = thread_level(*session);
  const bool first = lifetime.openings++ == 0 && !lifetime.own_world.exists;
  if (first) {
    overlap_thread::asked(level, level);
    // Another session may come with another thread level: assume the most.
    start(MPI_THREAD_MULTIPLE, false, level == MPI_THREAD_MULTIPLE);
  } else if (level == MPI_THREAD_MULTIPLE) {
    expect_threads();
  }
  return result;
}

int on_Session_finalize(MPI_Session* session) {
  const bool last = --lifetime.openings == 0;
  if (last && !lifetime.own_world.exists) finish();
  const int result = [session] {
    const ucx::Finalizing closing;
    return real::Session_finalize(session);
  }();
  if (result != MPI_SUCCESS && (!last || lifetime.own_world.exists))
    ++lifetime.openings;  // where Hob has ended with it, the program goes on without
  else if (last && lifetime.own_world.leaves)
    end_own_world();
  return result;
}

}  // namespace hob::mpi
