#include "mpi/ghost/job/world.hpp"

#include <unistd.h>

#include "ghost/wakeup.hpp"
#include "mpi/core/memory_fence.hpp"

namespace hob::mpi {
namespace {

/// The job with ghosts in it. One of a process, there to its end: null without ghosts.
struct LaunchedWorld {
  GhostWorld* world = nullptr;
  bool ended = false;  ///< for the program
};
constinit LaunchedWorld launched;

}  // namespace

GhostWorld* launched_world() { return launched.world; }

GhostWorld* ghost_world() { return launched.ended ? nullptr : launched.world; }

void set_launched_world(GhostWorld* world) { launched.world = world; }

void end_ghost_world() { launched.ended = true; }

void wake(GhostStatus& status) {
  memory_fence();
  if (status.asleep.load(std::memory_order_relaxed) == 0) return;
  const int fd = ghost::open_wakeup(status.pid, status.wakeup_fd, status.wakeup_inode);
  if (fd < 0) return;  // it wakes by itself before long
  [[maybe_unused]] const ssize_t written = ::write(fd, "", 1);
  ::close(fd);
}

}  // namespace hob::mpi
