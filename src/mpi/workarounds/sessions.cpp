#include "mpi/workarounds/sessions.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>

#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/ghost/job/peers_watch.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/resolve.hpp"
#include "mpi/workarounds/ucx_closing.hpp"

namespace hob::mpi {
namespace {

/// Of this process after MPI_Finalize: how often it has opened MPI again, and whether all have met
/// since the last time.
struct Reopened {
  std::uint32_t times = 0;
  bool met = false;
};
constinit Reopened reopened;

// All processes of the launch make a communicator together.
void meet() {
  MPI_Session session{};
  if (real::Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  if (real::Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS) {
    if (real::Comm_create_from_group(group, "hob", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) ==
        MPI_SUCCESS)
      real::Comm_free(&comm);
    real::Group_free(&group);
  }
  const ucx::Finalizing closing;
  real::Session_finalize(&session);
}

void sleep(const os::ProcessMonitor& peers, int wakeup_fd) {
  std::vector<pollfd> awaited = peers.alive();
  awaited.push_back({wakeup_fd, POLLIN, 0});
  ::poll(awaited.data(), awaited.size(), tuning::ghost::kLongestSessionSleepMs);
  std::array<char, 64> drained;
  while (wakeup_fd >= 0 && ::read(wakeup_fd, drained.data(), drained.size()) > 0) {
  }
}

}  // namespace

void await_sessions(const GhostWorld& world, const OwnGhost& own) {
  if (real::find("PMPI_Session_init") == nullptr) return;
  os::ProcessMonitor peers(application_pids(world), world.sees_peers);
  const pid_t parent = ::getppid();
  own.status.asleep.store(1, std::memory_order_seq_cst);
  for (std::uint32_t seen = 0; !peers.all_ended() && ::getppid() == parent; peers.some_ended()) {
    if (world.node_status->openings.load(std::memory_order_acquire) != seen) {
      ++seen;
      meet();
    } else {
      sleep(peers, own.wakeup_fd);
    }
  }
}

void open_again() {
  GhostWorld* world = launched_world();
  if (world == nullptr || ghost_world() != nullptr || reopened.met) return;
  reopened.met = true;
  if (!world->numbered_alike) {
    note(
        "Ghosts have ended: in containers that number their processes themselves they do not wait "
        "for sessions after MPI_Finalize.");
    return;
  }
  ++reopened.times;
  // Every process of the node comes here; the ghosts count with the first.
  std::uint32_t known = world->node_status->openings.load(std::memory_order_relaxed);
  while (known < reopened.times && !world->node_status->openings.compare_exchange_weak(
                                       known, reopened.times, std::memory_order_acq_rel)) {
  }
  for (GhostStatus* status : world->statuses) wake(*status);
  meet();
  note("Sessions that were opened after MPI_Finalize ran without ghosts.");
}

void end_opening() { reopened.met = false; }

}  // namespace hob::mpi
