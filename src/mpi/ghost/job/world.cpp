#include "mpi/ghost/job/world.hpp"

#include <unistd.h>

#include "ghost/wakeup.hpp"
#include "mpi/core/memory_fence.hpp"

namespace hob::mpi {
namespace {

GhostWorld* launched = nullptr;
bool ended = false;

}  // namespace

GhostWorld* launched_world() { return launched; }

GhostWorld* ghost_world() { return ended ? nullptr : launched; }

void set_launched_world(GhostWorld* world) { launched = world; }

void end_ghost_world() { ended = true; }

void wake(GhostStatus& status) {
  memory_fence();
  if (status.asleep.load(std::memory_order_relaxed) == 0) return;
  const int fd = ghost::open_wakeup(status.pid, status.wakeup_fd, status.wakeup_inode);
  if (fd < 0) return;  // it wakes by itself before long
  [[maybe_unused]] const ssize_t written = ::write(fd, "", 1);
  ::close(fd);
}

}  // namespace hob::mpi
