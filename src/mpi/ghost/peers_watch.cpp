#include "mpi/ghost/peers_watch.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

PeersWatch::PeersWatch(const std::vector<int>& pids, bool seen) {
  for (std::size_t i = 0; i < pids.size(); ++i) {
    const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, pids[i], 0));
    if (fd < 0) {
      if (seen && errno == ESRCH) gone_.push_back(i);
      continue;
    }
    alive_.push_back({fd, POLLIN, 0});
    places_.push_back(i);
  }
}

PeersWatch::~PeersWatch() {
  for (const pollfd& each : alive_) ::close(each.fd);
}

std::vector<std::size_t> PeersWatch::some_ended() {
  std::vector<std::size_t> ended = std::exchange(gone_, {});
  if (alive_.empty() || ::poll(alive_.data(), alive_.size(), 0) <= 0) return ended;
  for (std::size_t i = alive_.size(); i-- > 0;) {
    if (alive_[i].revents == 0) continue;
    ended.push_back(places_[i]);
    ::close(alive_[i].fd);
    alive_.erase(alive_.begin() + static_cast<std::ptrdiff_t>(i));
    places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return ended;
}

void end_job(const std::string& why) {
  std::fprintf(stderr, "hob: %s; ending the job\n", why.c_str());
  std::fflush(stderr);
  ::usleep(200'000);  // launchers forward what was said; some drop it when the job is aborted
  real::Abort(MPI_COMM_WORLD, 1);
  ::_exit(1);
}

std::vector<int> ghost_pids(const GhostWorld& world) {
  std::vector<int> pids;
  for (const GhostStatus* status : world.statuses) pids.push_back(status->pid);
  return pids;
}

void end_without_ghost(const GhostWorld& world, std::size_t number) {
  end_job("ghost " + std::to_string(number) + " of node " + std::to_string(world.own_node) +
          " (process " + std::to_string(world.statuses[number]->pid) +
          ") ended before the program did: it was killed, or it crashed");
}

}  // namespace hob::mpi
