#include "mpi/ghost/departure.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "ghost/wire.hpp"
#include "mpi/core/context.hpp"
#include "mpi/ghost/job/peers_watch.hpp"
#include "mpi/ghost/job/world.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/sleeper.hpp"
#include "mpi/workarounds/sessions.hpp"
#include "mpi/workarounds/ucx_closing.hpp"

namespace hob::mpi {
namespace {

/// How this process ends. Global, since handlers of the exit have no argument.
struct Leaving {
  bool finished = false;  ///< the program has come to MPI_Finalize
  bool watched = false;   ///< whether it does
  bool is_ghost_that_ends = false;
  pid_t process = 0;  ///< not its children, which inherit the handler
};
constinit Leaving leaving;

const void* object_of(const void* address) {
  Dl_info about{};
  return dladdr(address, &about) != 0 ? about.dli_fbase : nullptr;
}

// Called on the way out: whether it is the MPI library that leaves, and not the program. After a
// fatal error, it has said why.
bool library_leaves() {
  struct {
    const void* library = object_of(real::find("PMPI_Init"));
    const void* program = object_of(reinterpret_cast<const void*>(::getauxval(AT_ENTRY)));
    bool found = false;
  } search;
  _Unwind_Backtrace(
      [](_Unwind_Context* frame, void* argument) {
        auto& mine = *static_cast<decltype(search)*>(argument);
        const void* where = object_of(reinterpret_cast<const void*>(_Unwind_GetIP(frame) - 1));
        mine.found = where != nullptr && where == mine.library;
        return mine.found || where == mine.program ? _URC_END_OF_STACK : _URC_NO_REASON;
      },
      &search);
  return search.found;
}

// Ghosts wait for every rank's shutdown message. A launcher ends the job where one leaves without
// MPI_Finalize, but not all say why.
void left_early(int, void*) {
  if (!leaving.watched || leaving.finished || ::getpid() != leaving.process || depth != 0)
    return;  // MPI_Abort
  if (library_leaves()) return;
  std::fprintf(stderr, "hob: rank %d left without MPI_Finalize; the job ends here\n",
               launched_world()->own().application_rank);
  std::fflush(stderr);
}

// Exit handlers run in the reverse order of their registration, and a program may call MPI_Finalize
// in any of its own, or in a destructor of any library. What is registered while the process is
// being loaded, before the loader's own handler, which destroys the libraries, comes after them
// all.
[[gnu::constructor]] void come_last() { ::on_exit(left_early, nullptr); }

void notify_end(const GhostWorld& world) {
  std::byte message[sizeof(ghost::MessageHeader) + sizeof(ghost::Record)];
  const ghost::MessageHeader header{0, 1};
  ghost::Record record{};
  record.kind = ghost::Kind::shutdown;
  std::memcpy(message, &header, sizeof header);
  std::memcpy(message + sizeof header, &record, sizeof record);
  for (const int ghost : world.own_ghosts())
    real::Send(message, sizeof message, MPI_BYTE, ghost, ghost::kRequestTag, world.internal_comm);
}

void await_end(const GhostWorld& world, GhostStatus& status) {
  Sleeper sleeper({});
  os::ProcessMonitor ghosts(ghost_pids(world), world.sees_peers);
  while (status.closed.load(std::memory_order_acquire) == 0) {
    // A ghost that ends as it should has set `closed` before.
    for (const std::size_t ghost : ghosts.some_ended())
      if (world.statuses[ghost]->closed.load(std::memory_order_acquire) == 0)
        end_without_ghost(world, ghost);
    wake(status);
    int flag = 0;
    real::Iprobe(0, 0, world.internal_comm, &flag,
                 MPI_STATUS_IGNORE);  // the messages sent may need a push
    sleeper.sleep_for();
  }
}

}  // namespace

void report_early_exit() {
  leaving.process = ::getpid();
  leaving.watched = true;
}

void end_ghosts_early() {
  ::on_exit(
      [](int status, void*) {
        if (leaving.is_ghost_that_ends) ::_exit(status);
      },
      nullptr);
}

void exit_as_ghost(int status) {
  leaving.is_ghost_that_ends = true;
  std::exit(status);
}

void dismiss_ghosts() {
  const GhostWorld* world = ghost_world();
  if (world == nullptr || leaving.finished) return;
  leaving.finished = true;
  real::Barrier(context().comm);
  notify_end(*world);
  for (GhostStatus* status : world->statuses) await_end(*world, *status);
}

void leave_ghosts() {
  end_opening();
  GhostWorld* world = ghost_world();
  if (world == nullptr) return;
  if (world->kernel_moves) ::prctl(PR_SET_PTRACER, 0);  // no ghost needs this process's memory now
  real::Group_free(&world->internal_group);
  real::Comm_free(&world->internal_comm);
  end_ghost_world();
}

void finalize_library() {
  const ucx::Finalizing closing;
  real::Finalize();
}

}  // namespace hob::mpi
